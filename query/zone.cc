#include "query/zone.h"

#include <charconv>
#include <chrono>

#include <date/iso_week.h>
#include <date/tz.h>
#include <fmt/format.h>

#include "schema/time.h"

namespace respool {
namespace {

using Millis = std::chrono::milliseconds;

date::local_days local_day(const void* zone, std::int64_t time_ms) {
  const auto* tz = static_cast<const date::time_zone*>(zone);
  return date::floor<date::days>(tz->to_local(date::sys_time<Millis>{Millis{time_ms}}));
}

std::int64_t day_start(const void* zone, date::local_days day) {
  const auto* tz = static_cast<const date::time_zone*>(zone);
  // Where midnight does not exist or comes twice, the day starts at the first moment after it.
  const auto start = tz->to_sys(date::local_time<Millis>{day}, date::choose::earliest);
  return start.time_since_epoch().count();
}

}  // namespace

Result<Zone> Zone::find(const std::string& name) {
  try {
    return Zone(name.empty() ? date::current_zone() : date::locate_zone(name));
  } catch (const std::exception&) {
    if (name.empty()) return find("UTC");
    return Error(ErrorCode::InvalidArgument,
                 fmt::format("no time zone is called \"{}\"", name),
                 "use a name such as Europe/Berlin or UTC");
  }
}

std::string Zone::day(std::int64_t time_ms) const {
  const date::year_month_day ymd{local_day(zone_, time_ms)};
  return fmt::format("{:04}-{:02}-{:02}",
                     static_cast<int>(ymd.year()),
                     static_cast<unsigned>(ymd.month()),
                     static_cast<unsigned>(ymd.day()));
}

std::string Zone::week(std::int64_t time_ms) const {
  const iso_week::year_weeknum_weekday week{local_day(zone_, time_ms)};
  return fmt::format(
      "{:04}-W{:02}", static_cast<int>(week.year()), static_cast<unsigned>(week.weeknum()));
}

std::string Zone::month(std::int64_t time_ms) const {
  return day(time_ms).substr(0, 7);
}

std::int64_t Zone::start_of_day(std::int64_t time_ms, int days_later) const {
  return day_start(zone_, local_day(zone_, time_ms) + date::days{days_later});
}

std::optional<std::int64_t> Zone::start_of_date(std::string_view date) const {
  const auto utc_midnight = parse_time(date);
  if (!utc_midnight || date.size() != 10) return std::nullopt;
  return day_start(zone_, date::local_days{date::floor<date::days>(Millis{*utc_midnight})});
}

Result<std::int64_t> parse_when(std::string_view text, const Zone& zone, std::int64_t now_ms) {
  if (text == "now") return now_ms;
  if (text == "today") return zone.start_of_day(now_ms);
  if (text == "yesterday") return zone.start_of_day(now_ms, -1);
  if (const auto date = zone.start_of_date(text)) return *date;
  if (const auto time = parse_time(text)) return *time;
  std::int64_t amount = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), amount);
  const std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  constexpr std::int64_t kMost = 1'000'000;
  if (error == std::errc{} && amount >= 0 && amount <= kMost) {
    if (unit == "d") return now_ms - amount * 86'400'000;
    if (unit == "h") return now_ms - amount * 3'600'000;
    if (unit == "m") return now_ms - amount * 60'000;
  }
  return Error(ErrorCode::InvalidArgument,
               fmt::format("\"{}\" is not a time", text),
               "write 2026-11-30, 2026-11-30T20:30:00Z, 7d, 12h, today or yesterday");
}

}  // namespace respool
