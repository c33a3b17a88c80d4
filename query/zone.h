#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "schema/error.h"

namespace respool {

// A time zone of the system's database, for days, weeks and months as people there count them.
//
// Threads: any. Errors: InvalidArgument for a name the database does not have.
class Zone {
 public:
  // "UTC", "Asia/Kathmandu", ...; "" is the machine's own zone.
  static Result<Zone> find(const std::string& name);

  std::string day(std::int64_t time_ms) const;    // "2026-11-30"
  std::string week(std::int64_t time_ms) const;   // ISO 8601: "2026-W49"
  std::string month(std::int64_t time_ms) const;  // "2026-11"

  // When the day of `time_ms` began, moved by whole days; a day may have 23 or 25 hours.
  std::int64_t start_of_day(std::int64_t time_ms, int days_later = 0) const;
  // Midnight of "2026-11-30" in this zone.
  std::optional<std::int64_t> start_of_date(std::string_view date) const;

 private:
  explicit Zone(const void* zone) : zone_(zone) {}
  const void* zone_;  // a date::time_zone, which the database owns for good
};

// Reads a point in time as people write it: RFC 3339, a date (in `zone`), "7d", "12h", "today",
// "yesterday", "now". InvalidArgument says what is understood.
Result<std::int64_t> parse_when(std::string_view text, const Zone& zone, std::int64_t now_ms);

}  // namespace respool
