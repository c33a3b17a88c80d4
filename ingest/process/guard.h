#pragma once

#include <string_view>

namespace respool {

// The word that makes the respool program a guard. It is not for people and in no help text.
inline constexpr std::string_view kGuardCommand = "__guard";

// Descriptors the guard gets: a pipe that tells whether respool lives (a byte asks to end the
// program now), and one to report on.
inline constexpr int kLifelineDescriptor = 3;
inline constexpr int kReportDescriptor = 4;

// Runs `argv` (program first, ends with nullptr) below itself and reports how it ended in one line:
// "exit N", "signal N" or "error ERRNO". Returns the guard's exit code.
int guard_main(char** argv);

}  // namespace respool
