#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "schema/error.h"

namespace respool {

// What a run lets the agent do.
enum class PermissionMode : std::uint8_t {
  Default,     // what the user's configuration says
  FullAccess,  // everything, without asking
  Plan,        // no bash, write, edit, patch or task
};
std::optional<PermissionMode> parse_permission_mode(std::string_view name);
std::string_view permission_mode_name(PermissionMode mode);

// The value of OPENCODE_CONFIG_CONTENT that puts a mode on top of `content`, the operator's own,
// whose other keys stay. The rules stand at the top and at `agent`, because OpenCode tries an
// agent's rules last. Nothing for the default mode. InvalidArgument where `content` is no JSON
// object; the message does not quote it.
Result<std::optional<std::string>> with_permission_mode(const std::string& content,
                                                        PermissionMode mode,
                                                        const std::string& agent);

}  // namespace respool
