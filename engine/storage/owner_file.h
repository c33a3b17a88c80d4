#pragma once

#include <chrono>
#include <filesystem>
#include <string>

#include "schema/error.h"

namespace respool {

// Takes the store's write lock: an flock on DIR/owner, which names who has it. Waits up to `wait`.
// Returns the open descriptor; closing it gives the lock back. Errors: StoreBusy names the owner.
Result<int> take_owner_file(const std::filesystem::path& directory,
                            std::chrono::milliseconds wait,
                            const std::string& description);

// Io where `directory` lies on a network file system, whose locks cannot be trusted.
Result<void> refuse_network_file_system(const std::filesystem::path& directory);

}  // namespace respool
