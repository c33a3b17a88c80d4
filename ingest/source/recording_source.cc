#include "ingest/source/recording_source.h"

#include <cerrno>
#include <system_error>

#include <unistd.h>

#include <fmt/format.h>

namespace respool {
namespace {

constexpr std::size_t kReadBytes = 1 << 20;

}  // namespace

// False at the end of the file.
Result<bool> RecordingReader::fill() {
  buffer_.resize(kReadBytes);
  used_ = 0;
  while (true) {
    const ssize_t got = ::pread(file_, buffer_.data(), buffer_.size(), static_cast<off_t>(read_));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      buffer_.clear();
      return Error(ErrorCode::Io,
                   fmt::format("read a recording: {}", std::generic_category().message(errno)));
    }
    buffer_.resize(static_cast<std::size_t>(got));
    read_ += static_cast<std::uint64_t>(got);
    return got > 0;
  }
}

Result<std::optional<RecordingLine>> RecordingReader::next() {
  line_.clear();
  const std::uint64_t begin = line_at_;
  while (true) {
    if (used_ == buffer_.size()) {
      RESPOOL_TRY(const bool more, fill());
      if (!more) {
        if (line_.empty()) return std::optional<RecordingLine>();
        RESPOOL_TRY(const auto rest, line_.view());
        line_at_ += rest.size();
        return std::optional(RecordingLine{rest, begin, false});
      }
    }
    const std::string_view unread = std::string_view(buffer_).substr(used_);
    const auto end = unread.find('\n');
    if (end == std::string_view::npos) {
      RESPOOL_TRY(line_.append(unread));
      used_ = buffer_.size();
      continue;
    }
    used_ += end + 1;
    if (line_.empty()) {
      line_at_ += end + 1;
      return std::optional(RecordingLine{unread.substr(0, end), begin, true});
    }
    RESPOOL_TRY(line_.append(unread.substr(0, end)));
    RESPOOL_TRY(const auto whole, line_.view());
    line_at_ += whole.size() + 1;
    return std::optional(RecordingLine{whole, begin, true});
  }
}

}  // namespace respool
