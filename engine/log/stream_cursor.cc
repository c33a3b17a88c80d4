#include "engine/log/stream_cursor.h"

#include <utility>

#include <fmt/format.h>

#include "engine/log/event_row.h"

namespace respool {

StreamCursor::StreamCursor(const ReadView& view,
                           SessionNumber session,
                           OriginNumber origin,
                           EventNumber first)
    : view_(&view),
      key_{session, origin, EventNumber{first.value - 1}},
      rows_(view.scan(Family::Log,
                      keys::event(session, origin, first),
                      keys::after_prefix(keys::stream_prefix(session, origin)))) {}

Result<std::optional<fb::EventHeaderT>> StreamCursor::next() {
  if (std::exchange(in_event_, false)) rows_.next();
  ++key_.event.value;
  for (; rows_.valid(); rows_.next()) {
    const auto key = keys::parse_event(rows_.key());
    if (!key) return event_row::damaged(key_, "a key of the log has a wrong length");
    if (key->is_chunk) continue;
    if (key->event != key_.event) return event_row::damaged(key_, "the event is missing");
    RESPOOL_TRY(auto parts, event_row::take_apart(key_, rows_.value()));
    in_event_ = true;
    inline_ = parts.raw;
    chunks_ = parts.header.chunks;
    chunk_ = 0;
    const bool erased = !parts.header.commitment.empty();
    if (!erased) {
      RESPOOL_TRY(const std::uint64_t size, raw_bytes());
      if (size != parts.header.raw_bytes) {
        return event_row::damaged(
            key_,
            fmt::format("{} bytes are there, {} were recorded", size, parts.header.raw_bytes));
      }
    }
    return std::optional(std::move(parts.header));
  }
  RESPOOL_TRY(rows_.finish());
  return std::optional<fb::EventHeaderT>();
}

// All chunks but the last are full.
Result<std::uint64_t> StreamCursor::raw_bytes() const {
  if (chunks_ == 0) return std::uint64_t{inline_.size()};
  RESPOOL_TRY(const auto last,
              view_->get(Family::Log,
                         keys::event_chunk(key_.session, key_.origin, key_.event, chunks_ - 1)));
  if (!last)
    return event_row::damaged(key_, fmt::format("chunk {} of {} is missing", chunks_ - 1, chunks_));
  return (chunks_ - 1) * kChunkBytes + last->size();
}

Result<std::string_view> StreamCursor::piece() {
  if (chunks_ == 0) return std::exchange(inline_, {});
  if (chunk_ == chunks_) return std::string_view();
  // The row that is left was either the event's own or a chunk that was given out.
  rows_.next();
  in_event_ = false;
  const bool there =
      rows_.valid() &&
      rows_.key() == keys::event_chunk(key_.session, key_.origin, key_.event, chunk_);
  if (!there)
    return event_row::damaged(key_, fmt::format("chunk {} of {} is missing", chunk_, chunks_));
  if (++chunk_ < chunks_ && rows_.value().size() != kChunkBytes)
    return event_row::damaged(key_, fmt::format("chunk {} is cut short", chunk_ - 1));
  return rows_.value();
}

}  // namespace respool
