#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace respool::test {

// The tokens of each text by real tokenizers (count_tokens.mjs names them): the greatest of their
// counts. Fails the test where they are not installed, which tools/test does.
std::vector<std::uint64_t> real_tokens(const std::vector<std::string>& texts);

}  // namespace respool::test
