#include "tools/echo.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace respool {
namespace {

// False where the reader is gone.
bool write_out(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t wrote = ::write(descriptor, text.data(), text.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return true;
}

}  // namespace

Echo::Echo(int descriptor, std::function<std::string(std::string_view line)> show)
    : descriptor_(descriptor), show_(std::move(show)), thread_([this] { work(); }) {}

Echo::~Echo() {
  finish();
  for (const int file : files_)
    ::close(file);
}

void Echo::add(std::string_view line, const RecordedLine& place) {
  if (!place.file.empty() && place.file != newest_) {
    newest_ = place.file;
    files_.push_back(::open(newest_.c_str(), O_RDONLY | O_CLOEXEC));
  }
  Item item{.file = -1, .offset = place.offset, .size = line.size(), .line = {}};
  if (!place.file.empty()) item.file = files_.back();
  if (item.file < 0) item.line = line;
  {
    const std::lock_guard lock(mutex_);
    items_.push_back(std::move(item));
  }
  changed_.notify_one();
}

void Echo::talk(const std::string& line) {
  {
    const std::lock_guard lock(mutex_);
    if (talk_bytes_ + line.size() > kTalkBytes) return;
    talk_bytes_ += line.size();
    items_.push_back({.file = -1, .offset = 0, .size = line.size(), .line = line});
  }
  changed_.notify_one();
}

void Echo::finish() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

std::string Echo::line_of(Item& item) {
  if (item.file < 0) return std::move(item.line);
  std::string line(item.size, '\0');
  std::size_t done = 0;
  while (done < line.size()) {
    const ssize_t got = ::pread(
        item.file, line.data() + done, line.size() - done, static_cast<off_t>(item.offset + done));
    if (got <= 0) break;
    done += static_cast<std::size_t>(got);
  }
  line.resize(done);
  return line;
}

void Echo::work() {
  bool reader_is_there = true;
  while (true) {
    Item item;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return ended_ || !items_.empty(); });
      if (items_.empty()) return;
      item = std::move(items_.front());
      items_.pop_front();
    }
    const std::size_t size = item.line.size();
    if (reader_is_there) reader_is_there = write_out(descriptor_, show_(line_of(item)));
    const std::lock_guard lock(mutex_);
    talk_bytes_ -= std::min(talk_bytes_, size);
  }
}

}  // namespace respool
