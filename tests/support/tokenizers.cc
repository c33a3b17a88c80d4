#include "tests/support/tokenizers.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include <catch2/catch.hpp>

#include "tests/support/process.h"

namespace respool::test {

std::vector<std::uint64_t> real_tokens(const std::vector<std::string>& texts) {
  std::string input;
  for (const auto& text : texts)
    input += std::to_string(text.size()) + "\n" + text;
  const char* path = std::getenv("PATH");
  const auto ran = run_program(
      "/usr/bin/env",
      {"node", RESPOOL_SOURCE_DIR "/tests/support/count_tokens.mjs", RESPOOL_TOKENIZERS_DIR},
      {{"PATH", path != nullptr ? path : ""}},
      input);
  INFO("tools/test installs the tokenizers: " << ran.err);
  REQUIRE(ran.exit_code == 0);
  std::vector<std::uint64_t> most;
  std::istringstream lines(ran.out);
  std::uint64_t counts[3];
  while (lines >> counts[0] >> counts[1] >> counts[2])
    most.push_back(*std::max_element(counts, counts + 3));
  REQUIRE(most.size() == texts.size());
  return most;
}

}  // namespace respool::test
