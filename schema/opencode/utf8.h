#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace respool {

// Appends one code point. Surrogates and what lies above U+10FFFF become U+FFFD.
void append_utf8(std::string& text, char32_t code);

// How many bytes append_utf8 would append.
std::size_t utf8_length(char32_t code);

// True where `text` is UTF-8 throughout (no surrogates, no overlong forms).
bool is_valid_utf8(std::string_view text);

// The same text with each bad byte replaced by U+FFFD.
std::string to_valid_utf8(std::string_view text);

// The largest cut at or below `limit` that does not split a character.
std::size_t utf8_boundary(std::string_view text, std::size_t limit);

// Reads the character at `at` and moves past it; 0xFFFD for a bad byte, past which it moves by one.
char32_t next_code_point(std::string_view text, std::size_t& at);

}  // namespace respool
