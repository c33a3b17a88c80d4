#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace respool {

// Money is an integer number of nano-dollars (1e-9 US dollar), so that sums are exact.
inline constexpr std::int64_t kNanosPerDollar = 1'000'000'000;

// Reads a JSON number token as dollars and rounds it to the nearest nano-dollar (halves up).
// Nothing for what is not a number, below 0, or at least `limit_dollars`.
std::optional<std::int64_t> nanos_from_decimal(std::string_view token,
                                               std::int64_t limit_dollars = 1'000'000);

// "0.04969" for 49'690'000: decimal dollars without trailing zeros.
std::string nanos_to_decimal(std::int64_t nanos);

}  // namespace respool
