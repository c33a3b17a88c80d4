#pragma once

#include <optional>
#include <string>
#include <vector>

#include "query/views/session_view.h"

namespace respool {

// One line of `bindings`: where a session can be resumed, and whether it still can.
struct BindingLine {
  std::string session;
  fb::BindingRowT row;
  std::string state;  // alive, moved, gone, dead, unknown
};

// The bindings of the sessions a filter leaves, the latest seen first. A session whose sources name
// a host and a directory has one, whether or not a note of respool's says so.
Result<std::vector<BindingLine>> list_bindings(const StoreReader& reader,
                                               const Filter& filter,
                                               const SessionContext& context);

// What `key` was last bound to on this host and in this directory. Nothing where that session is
// known to be dead.
std::optional<BindingLine> newest_of_key(const std::vector<BindingLine>& bindings,
                                         const std::string& key,
                                         const std::string& host,
                                         const std::string& directory);

}  // namespace respool
