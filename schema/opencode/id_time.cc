#include "schema/opencode/id_time.h"

namespace respool {
namespace {

constexpr std::uint64_t kMask48 = (std::uint64_t{1} << 48) - 1;
constexpr std::size_t kHexDigits = 12;

std::optional<unsigned> hex_value(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a' + 10);
  return std::nullopt;
}

}  // namespace

std::optional<IdTime> id_time(std::string_view id) {
  const auto underscore = id.find('_');
  if (underscore == std::string_view::npos || underscore != 3) return std::nullopt;
  constexpr std::size_t kTail = 26;
  if (id.size() != underscore + 1 + kTail) return std::nullopt;
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < kHexDigits; ++i) {
    const auto digit = hex_value(id[underscore + 1 + i]);
    if (!digit) return std::nullopt;
    bits = bits << 4 | *digit;
  }
  if (id.starts_with("ses_")) bits = ~bits & kMask48;
  return IdTime{bits};
}

std::int64_t resolve_id_time(IdTime time, std::int64_t hint_ms) {
  const auto low = static_cast<std::int64_t>(time.low_ms());
  // Round (hint - low) / wrap to the nearest whole number of wraps.
  std::int64_t wraps = (hint_ms - low + kIdWrapMs / 2) / kIdWrapMs;
  if (wraps < 0) wraps = 0;
  return low + wraps * kIdWrapMs;
}

std::int64_t id_time_difference(std::uint64_t a_bits, std::uint64_t b_bits) {
  std::uint64_t difference = (a_bits - b_bits) & kMask48;
  if (difference >> 47 != 0) difference |= ~kMask48;
  return static_cast<std::int64_t>(difference);
}

std::uint64_t id_bits_at(std::int64_t time_ms, std::uint16_t counter) {
  return (static_cast<std::uint64_t>(time_ms) << 12 | counter) & kMask48;
}

}  // namespace respool
