#pragma once

#include <string>

#include "query/replay/touched_files.h"

namespace respool {

// Looks at the files that a session touched, where it goes on now: a path below the session's own
// directory is looked for at the same place below `directory`. Files above 64 MiB, and what is no
// regular file, are not read.
PresentFiles look_at_files(const Transcript& transcript, const std::string& directory);

}  // namespace respool
