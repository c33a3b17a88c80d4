#pragma once

#include <vector>

#include "tools/command.h"

namespace respool {

// The parts of the table of commands, in the order help shows them.
std::vector<CommandSpec> capture_commands();
std::vector<CommandSpec> other_commands();

}  // namespace respool
