#pragma once

#include <cstdint>
#include <string_view>

namespace respool {

// An upper estimate of the tokens `text` costs a model, for any text: prose in any language, code,
// JSON, digits, hex, base64, logs, emoji. The tests hold it against cl100k_base, o200k_base and
// Claude's tokenizer of 2023: never below the greatest of the three, and at most 1.6 times that for
// each class of text from 1 KB on (1.7 for logs of OpenCode's events). Models newer than these may
// count otherwise.
//
// It is a sum over characters, each priced by the one before, and a few tokens for the text itself,
// so that pieces can be priced one by one: estimate(a + b) <= estimate(a) + estimate(b) where the
// cut splits no character. An empty text costs nothing.
//
// Cost:    one pass, some hundred MB a second.
// Threads: any.
std::uint64_t estimate_tokens(std::string_view text);

}  // namespace respool
