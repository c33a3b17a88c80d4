#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "schema/error.h"
#include "schema/opencode/shape.h"

namespace respool {

// One record cut out of a source's bytes, before anybody asked what it says.
struct Frame {
  std::string_view raw;                  // borrowed until the sink returns
  std::uint64_t place = 0;               // byte offset in the source
  std::optional<Shape> shape;            // known where the source's framing tells it
  std::optional<std::int64_t> as_of_ms;  // state shapes: the latest time found in their document
  std::optional<std::int64_t> time_ms;   // parts: when their message was made
  std::string session;                   // state shapes: the session of their document
  std::string name;                      // what an unknown member of a document is called in it
  bool truncated = false;                // the source breaks off inside it
};

using FrameSink = std::function<Result<void>(const Frame&)>;

}  // namespace respool
