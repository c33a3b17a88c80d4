#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schema/error.h"

namespace respool {

struct ImportRequest {
  std::string program;  // OpenCode
  std::vector<std::string> environment;
  std::string directory;     // OpenCode binds what it imports to the directory it runs in
  std::string_view content;  // the file, as `opencode export` writes one
  std::chrono::milliseconds limit{300'000};
  const std::atomic<bool>* interrupted = nullptr;
};

// Runs `opencode import` over the content, from a file that only this user can read and that is
// removed after. OpenCode's exit code says little: it is 0 also where every row was there already,
// or none was written. Whoever asks must read the session back.
//
// Errors: Io where OpenCode could not be started, says no or takes too long, with its last words;
//         Interrupted.
Result<void> import_session(const ImportRequest& request);

}  // namespace respool
