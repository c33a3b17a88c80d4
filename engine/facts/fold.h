#pragma once

#include "schema/opencode/record.h"

#include "engine/facts/session_facts.h"
#include "engine/log/event.h"

namespace respool {

// Raise this when facts change meaning: the next writer folds the log again.
inline constexpr std::uint32_t kFoldVersion = 3;

// What of a stored event the fold may read. Nothing here depends on the store or on arrival, but
// for `ref`, `recording` and `place`, which say where to look the event up again.
struct EventContext {
  fb::EventRef ref;
  Shape shape = Shape::Unknown;
  std::string_view wire_type;
  std::optional<std::int64_t> time_ms;
  std::optional<std::int64_t> as_of_ms;
  std::string_view host;
  std::string_view run;
  std::uint64_t raw_bytes = 0;
  std::string_view raw;  // borrowed: tells unreadable records apart
  std::uint32_t recording = 0;
  std::uint64_t place = 0;
};
EventContext context_of(const StoredEvent& event);

// Joins one observation into the facts of its session (or of its host stream).
//
// Purity: reads its arguments and nothing else. Any order and any repetition of one session's
// observations ends in the same facts, pointers aside.
void fold(SessionFacts& facts, const EventContext& event, const Record& record);

// Decodes a stored event and folds it.
void fold(SessionFacts& facts, const StoredEvent& event);

}  // namespace respool
