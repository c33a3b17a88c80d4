#include "query/replay/budget.h"

#include "schema/opencode/utf8.h"

namespace respool {
namespace {

// Hundredths of a token for one character of each class.
constexpr std::uint64_t kLetter = 28;  // in a word of letters
constexpr std::uint64_t kMixed = 75;   // in a run that mixes letters and digits: hex, base64, ids
constexpr std::uint64_t kDigit = 50;
constexpr std::uint64_t kSpace = 14;
constexpr std::uint64_t kPunctuation = 60;
constexpr std::uint64_t kTwoByte = 60;     // Latin with marks, Greek, Cyrillic, Hebrew, Arabic
constexpr std::uint64_t kThreeByte = 110;  // CJK and most other scripts
constexpr std::uint64_t kFourByte = 300;   // emoji

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// The cost of the run of letters and digits that starts at `at`, which moves past it.
std::uint64_t word_cost(std::string_view text, std::size_t& at) {
  std::uint64_t letters = 0;
  std::uint64_t digits = 0;
  std::uint64_t switches = 0;
  for (; at < text.size() && (is_letter(text[at]) || is_digit(text[at])); ++at) {
    const bool lower = text[at] >= 'a' && text[at] <= 'z';
    const bool upper = text[at] >= 'A' && text[at] <= 'Z';
    if (at > 0 && upper && text[at - 1] >= 'a' && text[at - 1] <= 'z') ++switches;
    (lower || upper ? letters : digits) += 1;
  }
  constexpr std::uint64_t kLongWord = 24;
  const bool mixed = (letters > 0 && digits > 0) || (letters > kLongWord && switches > 3);
  return mixed ? (letters + digits) * kMixed : letters * kLetter + digits * kDigit;
}

}  // namespace

std::uint64_t estimate_tokens(std::string_view text) {
  std::uint64_t hundredths = 0;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (is_letter(c) || is_digit(c)) {
      hundredths += word_cost(text, at);
    } else if (static_cast<unsigned char>(c) < 0x80) {
      hundredths += c == ' ' || c == '\n' || c == '\t' ? kSpace : kPunctuation;
      ++at;
    } else {
      const std::size_t begin = at;
      next_code_point(text, at);
      const std::size_t bytes = at - begin;
      hundredths += bytes >= 4 ? kFourByte : bytes == 3 ? kThreeByte : kTwoByte;
    }
  }
  return (hundredths + 99) / 100;
}

}  // namespace respool
