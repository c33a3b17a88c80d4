#include "ingest/source/sse_source.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace respool {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::string_view kData = "data:";
// Of a line: with it is known whether the line is data, and whether a space comes before the value.
constexpr std::size_t kLongestBeginning = kByteOrderMark.size() + kData.size() + 1;
constexpr std::size_t kKeptBytes = 1U << 20;  // of memory, after a giant event

}  // namespace

Result<void> EventStreamCutter::feed(std::string_view bytes) {
  std::size_t next_line_feed = 0;  // looked for only once it is passed, so that CR alone stays fast
  for (std::size_t at = 0; at < bytes.size();) {
    if (line_feed_may_come_) {
      line_feed_may_come_ = false;
      if (bytes[at] == '\n') {
        if (event_bytes_ > 0) ++event_bytes_;
        ++at;
        continue;
      }
    }
    if (at == 0 || next_line_feed < at)
      next_line_feed = std::min(bytes.find('\n', at), bytes.size());
    const std::string_view reach = bytes.substr(at, next_line_feed - at);
    const std::string_view piece = reach.substr(0, reach.find('\r'));
    event_bytes_ += piece.size();
    RESPOOL_TRY(text(piece));
    at += piece.size();
    if (at == bytes.size()) break;
    event_bytes_ += 1;
    line_feed_may_come_ = bytes[at] == '\r';
    ++at;
    RESPOOL_TRY(end_line());
  }
  return ok();
}

std::uint64_t EventStreamCutter::finish() {
  const bool inside = has_data_ || !head_.empty();
  const std::uint64_t dropped = inside ? event_bytes_ : 0;
  *this = EventStreamCutter(std::move(sink_), max_event_bytes_);
  return dropped;
}

Result<void> EventStreamCutter::text(std::string_view piece) {
  if (line_ == Line::Unknown) {
    const auto begin = piece.substr(0, kLongestBeginning - head_.size());
    head_ += begin;
    piece.remove_prefix(begin.size());
    if (head_.size() < kLongestBeginning) return ok();
    RESPOOL_TRY(classify());
  }
  return line_ == Line::Data ? append(piece) : Result<void>(ok());
}

Result<void> EventStreamCutter::classify() {
  const std::string begin = std::exchange(head_, {});
  std::string_view line = begin;
  if (first_line_ && line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
  first_line_ = false;
  const bool has_value = line.starts_with(kData);
  line_ = line.empty() ? Line::Empty : Line::Skipped;
  if (!has_value && line != kData.substr(0, kData.size() - 1)) return ok();
  line_ = Line::Data;
  line.remove_prefix(std::min(kData.size(), line.size()));
  if (line.starts_with(' ')) line.remove_prefix(1);
  if (has_data_) {
    RESPOOL_TRY(append("\n"));
  }
  has_data_ = true;
  return append(line);
}

Result<void> EventStreamCutter::append(std::string_view piece) {
  if (piece.size() > max_event_bytes_ - data_.size()) {
    return Error(ErrorCode::InvalidArgument,
                 fmt::format("an event of the stream is longer than {} bytes", max_event_bytes_));
  }
  data_ += piece;
  return ok();
}

Result<void> EventStreamCutter::end_line() {
  if (line_ == Line::Unknown) {
    RESPOOL_TRY(classify());
  }
  return std::exchange(line_, Line::Unknown) == Line::Empty ? end_event() : Result<void>(ok());
}

Result<void> EventStreamCutter::end_event() {
  event_bytes_ = 0;
  if (!std::exchange(has_data_, false)) return ok();
  RESPOOL_TRY(sink_(data_));
  data_.clear();
  if (data_.capacity() > kKeptBytes) data_.shrink_to_fit();
  return ok();
}

}  // namespace respool
