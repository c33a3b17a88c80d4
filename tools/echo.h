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

// Prints recorded lines from a thread of its own, so that a reader who stopped keeps nobody else
// waiting. What waits is read again from the recording; only what could not be recorded
// is held in memory.
//
// Threads: add() and finish() from one thread.
class Echo {
 public:
  // `show` makes of a line what is printed on `descriptor`.
  Echo(int descriptor, std::function<std::string(std::string_view line)> show);
  ~Echo();
  Echo(const Echo&) = delete;
  Echo& operator=(const Echo&) = delete;

  void add(std::string_view line, const RecordedLine& place);
  // Talk that is nowhere else: beyond kTalkBytes that nobody reads it is dropped.
  void talk(const std::string& line);
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

  static constexpr std::size_t kTalkBytes = 1 << 20;

  int descriptor_;
  std::function<std::string(std::string_view)> show_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Item> items_;
  std::size_t talk_bytes_ = 0;
  bool ended_ = false;
  // Held open: a recording that was taken into the store is removed.
  std::vector<int> files_;
  std::filesystem::path newest_;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace respool
