#pragma once

#include <cstdint>
#include <string_view>

namespace respool {

// What kind of record a source delivered, recognised by its own keys. Stored: never renumber.
enum class Shape : std::uint8_t {
  Unknown = 0,        // JSON of no known shape
  Malformed = 1,      // not JSON, or JSON that breaks off
  RunLine = 2,        // a line of `opencode run --format json`
  BusEvent = 3,       // GET /event
  GlobalEvent = 4,    // GET /global/event, the bus form
  SyncFrame = 5,      // GET /global/event, the durable copy
  ApiEvent = 6,       // GET /api/event
  SyncRow = 7,        // an element of POST /sync/history, or a row of table `event`
  ExportSession = 8,  // `info` of an export
  ExportMessage = 9,  // `info` of one message of an export or of GET /session/ID/message
  ExportPart = 10,    // one part of such a message
  ExportOther = 11,   // anything else an export holds
  Talk = 12,          // a line OpenCode prints for people, such as an export's banner
  Note = 13,          // respool's own: what the source lacked and the user supplied
  DatabaseRow = 14,   // a row of an OpenCode database, but of table `event`
  OutputFile = 15,    // a file OpenCode saved a long output to; the wire type is its path
};

inline constexpr Shape kLastShape = Shape::OutputFile;

// The wire type of a malformed record whose document broke off there.
inline constexpr std::string_view kTruncatedType = "truncated";

// The name `events` prints and `--source` takes, such as "run".
std::string_view shape_name(Shape shape);

// True for objects of an export: a state at one moment, given by the file they came in.
inline bool is_state_shape(Shape shape) {
  return shape == Shape::ExportSession || shape == Shape::ExportMessage ||
         shape == Shape::ExportPart;
}

}  // namespace respool
