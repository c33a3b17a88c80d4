#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace respool {

// Columns for people: aligned, the header first, text made safe for a terminal.
class Table {
 public:
  explicit Table(std::vector<std::string> header) { rows_.push_back(std::move(header)); }
  void add(std::vector<std::string> row);
  // Prints nothing where there are no rows. The last column is not padded, and cut to fit a
  // terminal. With colour the header is bold.
  void print(bool color) const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

// "2026-11-30 20:30" of this machine's zone would differ by machine: UTC, with its Z.
std::string short_time(std::int64_t time_ms);
// "1 event", "2 events"
std::string counted(std::uint64_t number, std::string_view noun);
// "$0.0497"
std::string dollars(std::int64_t nanos);

}  // namespace respool
