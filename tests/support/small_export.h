#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/files.h"

namespace respool::test {

// A prompt and its answer, which ran a command first where it has `output`. `number` makes their
// ids and times; later turns have greater ones.
struct SmallTurn {
  int number = 0;
  std::string prompt;
  std::string answer;
  std::string output = {};
};

inline const std::string kSmallSession = "ses_dd1d7ed5bffeHZz7T53WJ4vhET";
// The id of the prompt or the answer of a turn.
std::string small_message(int number, bool answer);

// A session of these turns, made in `directory`, as `opencode export` would print it. Each answer
// cost 10 tokens in and 5 out.
std::string small_export(const fs::path& directory, const std::vector<SmallTurn>& turns);

}  // namespace respool::test
