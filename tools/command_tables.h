#pragma once

#include <vector>

#include "tools/command.h"

namespace respool {

// The parts of the table of commands, in the order help shows them.
std::vector<CommandSpec> capture_commands();
std::vector<CommandSpec> replay_commands();
std::vector<CommandSpec> other_commands();

// The flags of every command that runs a turn of OpenCode.
std::vector<FlagSpec> turn_flags();

}  // namespace respool
