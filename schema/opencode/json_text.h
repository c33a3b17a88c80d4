#pragma once

#include <string>
#include <string_view>

namespace respool {

// `text` as a JSON string with its quotes. Bad UTF-8 becomes U+FFFD; control characters, and the
// separators U+2028 and U+2029 that break line-based readers, are escaped.
std::string json_string(std::string_view text);
void append_json_string(std::string& out, std::string_view text);

// The same JSON without white space between tokens.
std::string minify_json(std::string_view raw);

// A copy in which control characters inside strings are escaped and bad UTF-8 is U+FFFD.
std::string repaired_json(std::string_view text);

// True where `text` is one JSON value throughout.
bool is_valid_json(std::string_view text);

}  // namespace respool
