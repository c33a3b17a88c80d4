#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/log/event.h"
#include "engine/storage/keys.h"
#include "engine/storage/read_view.h"

namespace respool {

// Walks one stream's events without holding the raw bytes of any whole.
//
// Threads:   one at a time.
// Ownership: borrows the view's store. A piece lives until the next call.
// Errors:    Corruption names stream and event, also where an event number is left out.
class StreamCursor {
 public:
  // Begins at event `first`.
  StreamCursor(const ReadView& view, SessionNumber session, OriginNumber origin, EventNumber first);

  // The next event's header, nothing at the end of the stream. What of the last event's raw bytes
  // was not asked for is passed over.
  Result<std::optional<fb::EventHeaderT>> next();
  // The number of the event whose header came last.
  EventNumber event() const { return key_.event; }
  // How many raw bytes that event still has in the store. Of an erased one these are fewer than
  // were recorded.
  Result<std::uint64_t> raw_bytes() const;
  // The next piece of them, at most kChunkBytes; empty after the last.
  Result<std::string_view> piece();

 private:
  const ReadView* view_;
  keys::EventKey key_;
  RowCursor rows_;
  bool in_event_ = false;    // rows_ stands on key_'s row, whose raw bytes were not taken yet
  std::string_view inline_;  // raw bytes in the row itself
  std::uint32_t chunks_ = 0;
  std::uint32_t chunk_ = 0;  // the next one
};

}  // namespace respool
