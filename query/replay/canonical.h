#pragma once

#include <string>

#include "query/replay/prefix.h"

namespace respool {

// Everything that a replay's bytes depend on, as bytes: what its id is the digest of. Names message
// ids, never event numbers, origins or times of receipt.
std::string canonical_replay(const Transcript& transcript, const ReplayOptions& options);

}  // namespace respool
