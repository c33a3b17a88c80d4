#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "query/views/transcript.h"

namespace respool {

// A file that the session read or wrote, as its tools left it.
struct TouchedState {
  std::string path;
  std::string action;    // read, write, edit, delete, patch: the last that may have changed it
  std::string recorded;  // SHA-256 of its content then, hex; "" where the record does not show it
};

// The files that tools of the transcript touched, the last touched last. What `write` wrote, and
// what `edit` made of it, is known whole; of other files only that they were touched. Calls that
// never ran touched nothing.
std::vector<TouchedState> touched_files(const Transcript& transcript);

// What is on disk now: a digest by path, nothing for a file that is missing. Paths that nobody
// looked at are not in it.
using PresentFiles = std::map<std::string, std::optional<std::string>>;

// "same", "changed", "missing", "there" (its recorded content is not known) or "" (not looked at).
std::string compared(const TouchedState& file, const PresentFiles& present);

}  // namespace respool
