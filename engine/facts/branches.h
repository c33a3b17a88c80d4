#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "engine/facts/session_facts.h"

namespace respool {

// One of several ways a session went on: on one host messages that another never saw, and the other
// way round.
struct Branch {
  std::uint32_t origin = 0;
  std::int64_t latest_ms = 0;       // of its last message that another branch lacks
  std::set<std::string> elsewhere;  // messages of other branches, which this one does not have
};

// The branches of a session that went on apart, the latest first; empty where it did not. What only
// one origin recorded before another went on is no branch: that one had it from there.
std::vector<Branch> branches_of(const SessionFacts& facts);

}  // namespace respool
