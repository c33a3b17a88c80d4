#pragma once

#include <cstdint>
#include <string_view>

#include "ingest/source/frame.h"

namespace respool {

// Cuts one JSON document that came whole, or breaks off, into its records:
//   {info, messages: [{info, parts: [...]}]}   an export: info, each message's info, each part
//   [{info, parts: [...]}, ...]                GET /session/ID/message: the same without info
//   {info, parts: [...]}                       one such message
//   [{...}, ...]                               an array of records, such as POST /sync/history
//   {...}                                      any other object: one record
// The parts of a state file share one as_of: the latest time found anywhere in the file.
//
// `place` is where the document starts in its source. Errors: those of the sink.
Result<void> cut_document(std::string_view text, std::uint64_t place, const FrameSink& sink);

}  // namespace respool
