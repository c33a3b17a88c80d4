#pragma once

#include <cstddef>
#include <string_view>

// What a value looks like, for the detectors of mask.h. Pure functions over bytes, linear.

namespace respool {

// How an assigned value was written: the more like code, the more it must look like a secret.
enum class Written { Bare, Quoted, EnvLine };
// What its name says it holds.
enum class Holds { Password, Key };

inline bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}
inline bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}
inline bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
inline bool is_alnum(char c) {
  return is_lower(c) || is_upper(c) || is_digit(c);
}
inline bool is_hex(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
inline char fold(char c) {
  return is_upper(c) ? static_cast<char>(c + 32) : c;
}

// True where `text` contains `word` (small letters), whatever the case.
bool contains_folded(std::string_view text, std::string_view word);

// Letters and digits mixed as no name, word or number mixes them: 16 or more of them.
bool looks_random(std::string_view value);

// Something that stands where a secret would: changeme, <your key>, ${VAR}, xxx, 12345678.
bool is_stand_in(std::string_view value);

// True where a value so written under such a name should be masked.
bool looks_secret(std::string_view value, Written written, Holds holds);

// True where a value is worth masking wherever it stands, without its name: long and not of words.
bool is_recognizable(std::string_view value);

// True where a token may begin at `at`: after no letter, digit or "_", but after an escape of JSON,
// of a URL or of a terminal.
bool starts_word(std::string_view text, std::size_t at);
// True where none of those follows.
bool ends_word(std::string_view text, std::size_t at);

}  // namespace respool
