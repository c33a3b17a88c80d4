#pragma once

#include <filesystem>

#include "schema/error.h"

namespace respool {

// When a store is closed, every data file of RocksDB (tables, MANIFEST, CURRENT, WAL) is sealed:
// DIR/seal lists each with its SHA-256 and size, and last a digest of itself. RocksDB checks some
// of them only in part and stops the process at some damage, so this is checked before it is asked.
// Opening for writing sets the seal aside; tables never change, so their digests are carried over
// and closing reads only what is new.

Result<void> write_seal(const std::filesystem::path& directory);
// Call before the store is changed.
Result<void> break_seal(const std::filesystem::path& directory);

enum class SealState { Whole, Absent };

// Corruption names the first file that differs. Absent: a writer is active, or it did not close.
Result<SealState> check_seal(const std::filesystem::path& directory);

}  // namespace respool
