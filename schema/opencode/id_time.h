#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace respool {

// The time inside an OpenCode id: 12 hex digits hold (milliseconds * 4096 + counter) modulo 2^48,
// inverted for sessions. 36 bits of milliseconds wrap every 795.4 days, so a time needs a hint.
struct IdTime {
  std::uint64_t bits = 0;  // the 48 bits, upright
  std::uint64_t low_ms() const { return bits >> 12; }
  std::uint16_t counter() const { return static_cast<std::uint16_t>(bits & 4095); }
};

inline constexpr std::int64_t kIdWrapMs = std::int64_t{1} << 36;

// Nothing for ids of another form, such as those a client supplied.
std::optional<IdTime> id_time(std::string_view id);

// The milliseconds since 1970 of `time`, in the wrap that lies nearest to `hint_ms`.
std::int64_t resolve_id_time(IdTime time, std::int64_t hint_ms);

// Compares two id times that lie less than half a wrap (397 days) apart: a - b, in steps of 1/4096
// ms.
std::int64_t id_time_difference(std::uint64_t a_bits, std::uint64_t b_bits);

// The 48 bits an id made at this moment would hold.
std::uint64_t id_bits_at(std::int64_t time_ms, std::uint16_t counter);

}  // namespace respool
