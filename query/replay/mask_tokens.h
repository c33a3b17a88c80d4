#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace respool {

// Where a token may begin: anywhere; where starts_word() says so; and not after "-" either.
enum class Start { Anywhere, Word, Run };

// A secret that its own text or the text around it gives away.
struct TokenRule {
  std::string_view kind;
  std::vector<std::string_view> anchors;  // one of them begins every match, in any case
  std::string_view pattern;               // RE2, anchored there; group 1 is the secret
  Start start;
  // Looks at what no pattern can say; may move `begin` and `end`. Null accepts all.
  bool (*accepts)(std::string_view text, std::size_t& begin, std::size_t& end);
};

// The table that MASKING.md documents. What is listed first names a find first.
const std::vector<TokenRule>& token_rules();

}  // namespace respool
