#pragma once

#include <filesystem>

#include "schema/error.h"

namespace respool {

// Files of RocksDB that carry no checksum of the whole (MANIFEST, CURRENT, the WAL) are sealed when
// a store is closed: DIR/seal lists each with its size and SHA-256, and last a digest of itself.
// Opening for writing breaks the seal.

Result<void> write_seal(const std::filesystem::path& directory);
Result<void> break_seal(const std::filesystem::path& directory);

enum class SealState { Whole, Absent };

// Corruption names the first file that differs. Absent: a writer is active, or it did not close.
Result<SealState> check_seal(const std::filesystem::path& directory);

}  // namespace respool
