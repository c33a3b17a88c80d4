#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "ingest/source/frame.h"

namespace respool {

// Larger files of a storage tree are reported, not read.
inline constexpr std::uint64_t kMaxStorageFileBytes = 1ULL << 30;

// A file of a storage tree that did not come in whole.
struct StorageProblem {
  std::string file;  // relative to the tree
  std::string what;  // never content
};

// True where `folder` looks like the tree of JSON files that OpenCode kept before 1.2, or like the
// folder that holds it as `storage`.
bool is_storage_tree(const std::filesystem::path& folder);

// Reads every *.json file below, one record a file, session by session and in the same order each
// time: the session's info, each message with its parts, then what else names the session; at last
// the files that no session claims.
//   session/PROJECT/SESSION.json   ExportSession
//   message/SESSION/MESSAGE.json   ExportMessage
//   part/MESSAGE/PART.json         ExportPart, of the session its message lies in
//   everything else                ExportOther, named after its topmost folder
// A file's as_of is the latest time in it; a part without any has the time of its message.
//
// Damage is no error. Every damaged file is in the result, and what it holds is delivered: readable
// after a repair under its own shape, else as Malformed under its path. Of a file that has no bytes
// to give a note respool.damaged is left in their place: empty, not readable, too large, a folder
// or a link where a file should be.
//
// Links are reported and never followed. What may hold logins (auth.json, names with "account" or
// "credential") is neither read nor reported.
//
// Ownership: frames borrow from a buffer that is gone when the sink returns.
// Errors:    NotFound and Io for `folder` itself; those of the sink.
Result<std::vector<StorageProblem>> read_storage_tree(const std::filesystem::path& folder,
                                                      const FrameSink& sink);

}  // namespace respool
