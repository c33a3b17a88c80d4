#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "query/views/filter.h"

namespace respool {

// One line of `sessions`.
struct SessionLine {
  SessionEntry entry;
  std::vector<std::string> origins;
  std::string forked_from;   // the session whose steps it copied, "" where none
  std::string resumed_from;  // the session respool continued in it, "" where none
  std::string state;         // alive, gone, dead, unknown; "moved" comes with bindings
  std::uint64_t events = 0;
  bool complete = false;
  fb::UsageRowT tree;                  // with its child sessions
  std::int64_t family_cost_nanos = 0;  // with forks, copies once
};

struct SessionContext {
  std::string here;  // the current directory
  std::string host;  // this machine
};

// The sessions of the store, newest first. Reads no events and no facts but one row a session.
Result<std::vector<SessionLine>> list_sessions(const StoreReader& reader,
                                               const Filter& filter,
                                               const SessionContext& context);

// How one session came from another.
struct LineageEdge {
  std::string from;
  std::string to;
  std::string kind;  // child, fork, resume
  std::optional<std::int64_t> at_ms;
  std::string certainty;  // certain, inferred
};
Result<std::vector<LineageEdge>> list_lineage(const StoreReader& reader,
                                              const Filter& filter,
                                              const std::string& here);

}  // namespace respool
