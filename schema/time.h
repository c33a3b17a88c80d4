#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace respool {

// Times are milliseconds since 1970-01-01 UTC, as OpenCode writes them.

// "2026-11-30T20:30:23.780Z". Times no calendar holds come back as their number.
std::string format_time(std::int64_t time_ms);

// Reads RFC 3339 ("2026-11-30T20:30:23.780Z", with offset) or a bare date (midnight UTC).
std::optional<std::int64_t> parse_time(std::string_view text);

}  // namespace respool
