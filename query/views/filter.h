#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "query/store_reader.h"

namespace respool {

// What every question can be narrowed by.
struct Filter {
  std::optional<std::int64_t> since_ms;  // from here on
  std::optional<std::int64_t> until_ms;  // up to, not including
  std::string host;
  std::string directory;
  std::string project;
  std::string model;  // "provider/model", or either alone
  std::string agent;
  std::string session;  // one session, found as an id or prefix
  bool tree = false;    // and its child sessions
  std::size_t limit = std::numeric_limits<std::size_t>::max();

  bool at(std::optional<std::int64_t> time_ms) const {
    if (!since_ms && !until_ms) return true;
    if (!time_ms) return false;
    return (!since_ms || *time_ms >= *since_ms) && (!until_ms || *time_ms < *until_ms);
  }
};

// True where the session is of the filter's host, directory and project.
bool session_matches(const Filter& filter, const fb::SessionRowT& row);
bool model_matches(const Filter& filter, const std::string& provider, const std::string& model);
bool agent_matches(const Filter& filter, const std::string& agent);

// The sessions a question is about, in the store's order. `here` is the directory for "@last".
Result<std::vector<SessionEntry>> select_sessions(const StoreReader& reader,
                                                  const Filter& filter,
                                                  const std::string& here);

}  // namespace respool
