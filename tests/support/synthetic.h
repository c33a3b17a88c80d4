#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "tests/support/oracle.h"

namespace respool::test {

// A history made up from a seed: sessions of steps spread over more than a year, and the exports
// OpenCode would write for them. The truth beside the text.
struct SyntheticHistory {
  std::vector<std::string> exports;
  std::vector<StepOracle> steps;
};
SyntheticHistory make_history(unsigned seed, std::size_t sessions, std::size_t steps_each);

}  // namespace respool::test
