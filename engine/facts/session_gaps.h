#pragma once

#include <string>
#include <vector>

#include "engine/facts/gap_kind.h"
#include "engine/facts/session_facts.h"

namespace respool {

// One thing that is missing from a session's record, or wrong in it.
struct Gap {
  GapKind kind = GapKind::UnknownType;
  std::string where;  // an id, a place, or "session"
  std::string detail;
};

// What one session's facts alone show to be missing. What needs other sessions (a child that was
// not captured, a fork's origin) is not here.
std::vector<Gap> session_gaps(const SessionFacts& facts);

// The sessions its task calls name as their children.
std::vector<std::string> named_children(const SessionFacts& facts);

}  // namespace respool
