#pragma once

namespace respool {

// What scripts read. Only ever add.
enum class ExitCode : int {
  Done = 0,
  No = 1,  // done, and the answer is no: differences, damage, an unfinished turn
  Usage = 2,
  Failed = 3,
  NewerStore = 4,  // the store needs a newer build
  Interrupted = 130,
};

}  // namespace respool
