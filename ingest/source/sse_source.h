#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "schema/error.h"

namespace respool {

// Cuts the bytes of a live stream of server-sent events into the data of its events. The cut does
// not depend on how the bytes arrive. Only the data counts: types, ids and comments are skipped.
//
// Threads: one at a time. Purity: no input or output of its own.
// Errors:  those of the sink; InvalidArgument where an event is above its limit. After an error the
//          rest of what was fed is lost: call finish() and begin a new stream.
// Units:   bytes.
class EventStreamCutter {
 public:
  // The longest data of one event.
  static constexpr std::uint64_t kMaxEventBytes = 1ULL << 30;

  // Takes the data of one whole event, its lines joined by newlines. The view lives for the call.
  using Sink = std::function<Result<void>(std::string_view data)>;

  explicit EventStreamCutter(Sink sink, std::uint64_t max_event_bytes = kMaxEventBytes)
      : sink_(std::move(sink)), max_event_bytes_(max_event_bytes) {}

  Result<void> feed(std::string_view bytes);
  // The stream ended. Returns how many bytes were dropped because the event that they began is not
  // whole; 0 where the stream ended between events. The cutter is ready for another stream then.
  std::uint64_t finish();

 private:
  enum class Line { Unknown, Empty, Data, Skipped };

  Result<void> text(std::string_view piece);
  // Decides what the line is, once its beginning is long enough or it is whole.
  Result<void> classify();
  Result<void> append(std::string_view piece);
  Result<void> end_line();
  Result<void> end_event();

  Sink sink_;
  std::uint64_t max_event_bytes_;
  Line line_ = Line::Unknown;
  std::string head_;                 // the beginning of a line that is still Unknown
  bool first_line_ = true;           // a byte order mark may stand before it
  bool line_feed_may_come_ = false;  // the second half of a line end
  bool has_data_ = false;
  std::string data_;
  std::uint64_t event_bytes_ = 0;  // fed since the last event ended
};

}  // namespace respool
