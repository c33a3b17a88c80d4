#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "query/views/session_view.h"

namespace respool {

// What OpenCode has on this machine now, gathered by whoever asks.
struct OpenCodeHoldings {
  std::map<std::string, std::set<std::string>> databases;  // path to the sessions in it
  std::string main_database;                               // the one OpenCode opens by default
  std::map<std::string, std::string> storage_tree;         // session to its file, from before 1.2
};

// A session that OpenCode should have, or should list, and does not.
struct MissingLine {
  std::string session;
  std::string kind;  // deleted, vanished, archived, other_channel, not_migrated, not_listed
  std::optional<std::int64_t> after_ms;   // it was still there
  std::optional<std::int64_t> before_ms;  // and then was not
  std::string evidence;
  std::string next;
};

Result<std::vector<MissingLine>> list_missing(const StoreReader& reader,
                                              const Filter& filter,
                                              const SessionContext& context,
                                              const OpenCodeHoldings& holdings);

}  // namespace respool
