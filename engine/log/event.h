#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "schema/codec.h"
#include "schema/digest.h"
#include "schema/ids.h"
#include "schema/opencode/shape.h"

namespace respool {

// What a source delivered, before it has a place in the log.
struct Observation {
  StreamName stream;
  Shape shape = Shape::Unknown;
  std::string wire_type;
  std::optional<std::int64_t> time_ms;  // the event's own
  std::int64_t received_ms = 0;
  std::string host;
  std::string run;
  std::optional<std::int64_t> as_of_ms;  // state shapes: the moment the file shows
  std::uint32_t recording = 0;
  std::uint64_t place = 0;  // byte offset in the recording
  std::string_view raw;     // borrowed until the append returns
};

// The store that first recorded a stream.
struct Origin {
  std::string id;    // 32 hex digits
  std::string host;  // that store's host, for people; "" where unknown
};

// An event that its origin appended, on its way into another store.
struct ReceivedEvent {
  StreamName stream;
  Origin origin;
  fb::EventHeaderT header;  // as its origin keeps it; what is local to a store is given anew
  Sha256 raw_digest{};      // of `raw`
  std::string_view raw;     // borrowed until the append returns
  std::uint32_t recording = 0;
  std::uint64_t place = 0;  // byte offset in what it came in
};

// An event as the log holds it.
struct StoredEvent {
  SessionNumber session;
  OriginNumber origin;
  EventNumber event;
  fb::EventHeaderT header;
  std::string raw;

  Shape shape() const { return static_cast<Shape>(header.shape); }
  LogPosition position() const { return {header.position}; }
};

// Raw bytes above this are stored in pieces of this size.
inline constexpr std::uint64_t kChunkBytes = 1ULL << 20;

}  // namespace respool
