#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace respool {

// Makes ids of OpenCode's form, each later than the one before: prefix, 12 hex digits of a time,
// 14 characters that come from the seed. Equal seeds and times give equal ids, so whoever needs
// ids that no database holds yet brings a seed nobody used before.
//
// Units: 4096 ids fit in a millisecond; the ids after them state the next one.
class NewIds {
 public:
  // Where `count` ids from `time_ms` on would pass the moment at which ids wrap, all are made just
  // after it: they sort by their text, and the ids OpenCode makes next come after them.
  NewIds(std::string seed, std::int64_t time_ms, std::uint64_t count);

  std::string session();
  std::string message() { return ascending("msg_"); }
  std::string part() { return ascending("prt_"); }

 private:
  std::string ascending(std::string_view prefix);

  std::string seed_;
  std::uint64_t next_ = 0;  // milliseconds * 4096 + counter
};

// An id that states the given time, for what had none: equal seeds, equal ids.
std::string id_for(std::string_view prefix, std::string_view seed, std::int64_t time_ms);

}  // namespace respool
