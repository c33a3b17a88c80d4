#pragma once

#include <set>
#include <string>
#include <utility>

#include "ingest/ingester.h"

namespace respool {

// OpenCode saves an output it cuts to a file, for a while: larger ones than this stay where they
// are and in `gaps`.
inline constexpr std::uint64_t kMaxOutputFileBytes = 256ULL << 20;

// Takes in the files that long outputs were saved to, whole, where they still are: (session, path).
// Only files of OpenCode's own folder "tool-output" are read: a path is what a model's tool said.
Result<void> take_output_files(Ingester& ingester,
                               const std::set<std::pair<std::string, std::string>>& files);

}  // namespace respool
