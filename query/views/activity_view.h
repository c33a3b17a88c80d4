#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/facts/outcome.h"

#include "query/views/filter.h"

namespace respool {

// One line of `tools`.
struct ToolLine {
  std::string session;
  std::string message;
  ToolOutcome outcome = ToolOutcome::Unknown;
  fb::PartRowT part;
};

// One line of `files`: a file that a tool call touched, or that a patch says was changed.
struct FileLine {
  std::string session;
  std::string path;
  fb::FileAction action = fb::FileAction::Read;
  std::string tool;
  std::string call;
  std::optional<ToolOutcome> outcome;  // nothing for patches, which are what really changed
  std::optional<std::int64_t> time_ms;
};

// One line of `permissions`: a request or a question, and what was answered.
struct PermissionLine {
  std::string session;
  fb::AskRowT ask;
};

Result<std::vector<ToolLine>> list_tools(const StoreReader& reader,
                                         const Filter& filter,
                                         const std::string& tool,
                                         const std::string& outcome,
                                         const std::string& here);
Result<std::vector<FileLine>> list_files(const StoreReader& reader,
                                         const Filter& filter,
                                         const std::string& here);
Result<std::vector<PermissionLine>> list_permissions(const StoreReader& reader,
                                                     const Filter& filter,
                                                     const std::string& here);

}  // namespace respool
