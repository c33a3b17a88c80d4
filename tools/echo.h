#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "engine/spool/recording_writer.h"

namespace respool {

// Prints recorded lines on stdout from a thread of its own, so that a reader who stopped keeps
// nobody else waiting. What waits is read again from the recording; only what could not be recorded
// is held in memory.
//
// Threads: add() and finish() from one thread.
class Echo {
 public:
  // `show` makes of a line what is printed.
  explicit Echo(std::function<std::string(std::string_view line)> show);
  ~Echo();
  Echo(const Echo&) = delete;
  Echo& operator=(const Echo&) = delete;

  void add(std::string_view line, const RecordedLine& place);
  // Waits until all is printed, or the reader is gone.
  void finish();

 private:
  struct Item {
    int file = -1;
    std::uint64_t offset = 0;
    std::size_t size = 0;
    std::string line;  // where no file has it
  };
  void work();
  static std::string line_of(Item& item);

  std::function<std::string(std::string_view)> show_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Item> items_;
  bool ended_ = false;
  // Held open: a recording that was taken into the store is removed.
  std::vector<int> files_;
  std::filesystem::path newest_;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace respool
