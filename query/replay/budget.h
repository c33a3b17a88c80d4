#pragma once

#include <cstdint>
#include <string_view>

namespace respool {

// An upper estimate of the tokens `text` costs a model, by class of text: prose is about four bytes
// a token, digits, hex, base64, CJK and emoji are far fewer. Never below what current tokenizers
// count, and not far above.
std::uint64_t estimate_tokens(std::string_view text);

}  // namespace respool
