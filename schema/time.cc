#include "schema/time.h"

#include <chrono>

#include <date/date.h>
#include <fmt/format.h>

namespace respool {
namespace {

// Reads exactly `digits` decimal digits at `at` and moves past them.
std::optional<int> read_digits(std::string_view text, std::size_t& at, std::size_t digits) {
  if (at + digits > text.size()) return std::nullopt;
  int number = 0;
  for (std::size_t i = 0; i < digits; ++i) {
    const char c = text[at + i];
    if (c < '0' || c > '9') return std::nullopt;
    number = number * 10 + (c - '0');
  }
  at += digits;
  return number;
}

bool read_char(std::string_view text, std::size_t& at, std::string_view any_of) {
  if (at >= text.size() || any_of.find(text[at]) == std::string_view::npos) return false;
  ++at;
  return true;
}

// Reads "Z" or "+hh:mm" and gives the offset in minutes.
std::optional<int> read_offset(std::string_view text, std::size_t& at) {
  if (read_char(text, at, "Zz")) return 0;
  if (at >= text.size() || (text[at] != '+' && text[at] != '-')) return std::nullopt;
  const int sign = text[at++] == '-' ? -1 : 1;
  const auto hours = read_digits(text, at, 2);
  if (!hours || !read_char(text, at, ":")) return std::nullopt;
  const auto minutes = read_digits(text, at, 2);
  if (!minutes || *hours > 23 || *minutes > 59) return std::nullopt;
  return sign * (*hours * 60 + *minutes);
}

// Reads ".780" with any number of digits; digits past the millisecond are dropped.
std::optional<int> read_fraction(std::string_view text, std::size_t& at) {
  if (!read_char(text, at, ".")) return 0;
  int millis = 0;
  int digits = 0;
  for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at, ++digits) {
    if (digits < 3) millis = millis * 10 + (text[at] - '0');
  }
  if (digits == 0) return std::nullopt;
  for (; digits < 3; ++digits)
    millis *= 10;
  return millis;
}

}  // namespace

std::string format_time(std::int64_t time_ms) {
  constexpr std::int64_t kYear0 = -62'167'219'200'000;
  constexpr std::int64_t kYear10000 = 253'402'300'800'000;
  if (time_ms < kYear0 || time_ms >= kYear10000) return std::to_string(time_ms);
  const date::sys_time<std::chrono::milliseconds> time{std::chrono::milliseconds{time_ms}};
  const auto day = date::floor<date::days>(time);
  const date::year_month_day ymd{day};
  const auto millis = (time - day).count();
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z",
                     static_cast<int>(ymd.year()),
                     static_cast<unsigned>(ymd.month()),
                     static_cast<unsigned>(ymd.day()),
                     millis / 3'600'000,
                     millis / 60'000 % 60,
                     millis / 1000 % 60,
                     millis % 1000);
}

std::optional<std::int64_t> parse_time(std::string_view text) {
  std::size_t at = 0;
  const auto year = read_digits(text, at, 4);
  if (!year || !read_char(text, at, "-")) return std::nullopt;
  const auto month = read_digits(text, at, 2);
  if (!month || !read_char(text, at, "-")) return std::nullopt;
  const auto day = read_digits(text, at, 2);
  if (!day) return std::nullopt;
  const auto ymd = date::year{*year} / *month / *day;
  if (!ymd.ok()) return std::nullopt;
  const std::int64_t day_ms =
      std::chrono::milliseconds{date::sys_days{ymd}.time_since_epoch()}.count();
  if (at == text.size()) return day_ms;

  if (!read_char(text, at, "Tt ")) return std::nullopt;
  const auto hour = read_digits(text, at, 2);
  if (!hour || *hour > 23 || !read_char(text, at, ":")) return std::nullopt;
  const auto minute = read_digits(text, at, 2);
  if (!minute || *minute > 59) return std::nullopt;
  int second = 0;
  if (read_char(text, at, ":")) {
    const auto read = read_digits(text, at, 2);
    if (!read || *read > 60) return std::nullopt;
    second = *read;
  }
  const auto millis = read_fraction(text, at);
  if (!millis) return std::nullopt;
  const auto offset = read_offset(text, at);
  if (!offset || at != text.size()) return std::nullopt;
  return day_ms + (((*hour * 60LL + *minute - *offset) * 60) + second) * 1000 + *millis;
}

}  // namespace respool
