#include "query/replay/budget.h"

#include <vector>

#include "schema/opencode/utf8.h"

#include "query/replay/budget_tables.h"

namespace respool {
namespace {

constexpr std::uint64_t kUnit = 64;       // costs are in 64ths of a token
constexpr std::uint64_t kTextTokens = 3;  // more than a cut through a pair can save
constexpr std::size_t kAscii = 128;

enum Class : std::uint8_t { None, Small, Capital, Digit, Blank, Newline, Control, Sign, Other };

constexpr Class class_of(std::size_t c) {
  if (c >= 'a' && c <= 'z') return Small;
  if (c >= 'A' && c <= 'Z') return Capital;
  if (c >= '0' && c <= '9') return Digit;
  if (c == ' ') return Blank;
  if (c == '\n') return Newline;
  if (c < ' ' || c == 0x7F) return Control;
  return c < kAscii ? Sign : Other;
}

constexpr bool is_letter(Class c) {
  return c == Small || c == Capital;
}

constexpr std::uint8_t same_again(std::size_t c, Class kind) {
  constexpr std::string_view kDrawn = "#%*+-./=_~";
  if (kind == Blank) return budget::kSameBlank;
  if (kind == Newline) return budget::kSameNewline;
  return kDrawn.find(static_cast<char>(c)) != std::string_view::npos ? budget::kSameRule
                                                                     : budget::kSameSign;
}

constexpr std::uint8_t pair_cost(std::size_t first, std::size_t second) {
  const Class before = class_of(first);
  const Class here = class_of(second);
  if (is_letter(before) && here == Small) return budget::kSmall[(first | 0x20) - 'a'][second - 'a'];
  if (before == Capital && here == Capital) return budget::kCapital[first - 'A'][second - 'A'];
  if (first == second && (here == Blank || here == Newline || here == Sign))
    return same_again(second, here);
  return budget::kClasses[before][here];
}

using PairCosts = std::array<std::array<std::uint8_t, kAscii>, kAscii + 2>;

// Rows: characters of ASCII, then the beginning of a text, then what is not ASCII.
constexpr std::size_t kBegin = kAscii;
constexpr std::size_t kBeyond = kAscii + 1;
constexpr PairCosts kPairs = [] {
  PairCosts costs{};
  for (std::size_t second = 0; second < kAscii; ++second) {
    for (std::size_t first = 0; first < kAscii; ++first)
      costs[first][second] = pair_cost(first, second);
    costs[kBegin][second] = budget::kClasses[None][class_of(second)];
    costs[kBeyond][second] = budget::kClasses[Other][class_of(second)];
  }
  return costs;
}();

// A bit for each character of kOneToken.
const std::vector<bool>& one_token() {
  static const std::vector<bool> kBits = [] {
    std::vector<bool> bits(0x10000, false);
    for (std::size_t at = 0; at < budget::kOneToken.size();)
      bits[next_code_point(budget::kOneToken, at)] = true;
    return bits;
  }();
  return kBits;
}

// Alphabets whose letters tokenizers join, in hundredths of a token a letter; others are two
// tokens.
std::uint64_t two_byte_cost(char32_t c) {
  if (c < 0x100) return 150;                // Latin of Western Europe
  if (c >= 0x370 && c < 0x400) return 190;  // Greek
  if (c >= 0x410 && c < 0x430) return 140;  // Cyrillic, capitals
  if (c >= 0x430 && c < 0x450) return 95;   // Cyrillic, small
  if (c >= 0x400 && c < 0x480) return 160;  // Cyrillic, the rest
  if (c >= 0x5C0 && c < 0x600) return 170;  // Hebrew
  if (c >= 0x600 && c < 0x680) return 150;  // Arabic
  return 200;
}

// Three bytes are at most three tokens, except where a tokenizer takes a character apart first:
// ligatures and squared words.
std::uint64_t three_byte_cost(char32_t c) {
  if (c >= 0xFDF0 && c < 0xFE00) return 1200;
  if (c >= 0xFB00 && c < 0xFDF0) return 400;
  if (c >= 0x3200 && c < 0x3400) return 600;
  if (one_token()[c]) return c >= 0x900 && c < 0x980 ? 105 : 100;  // not always in Devanagari
  const bool two = (budget::kTwoTokenBlocks[c >> 11] >> (c >> 6 & 31) & 1) != 0;
  return two ? 200 : 300;
}

std::uint64_t four_byte_cost(char32_t c) {
  if ((c >= 0x1F480 && c < 0x1F4C0) || (c >= 0x1F600 && c < 0x1F640)) return 210;
  if (c >= 0x1F100 && c < 0x1F300) return 500;  // squared words
  return c >= 0x1F000 && c < 0x20000 ? 300 : 400;
}

std::uint64_t beyond_ascii_cost(char32_t c) {
  const std::uint64_t hundredths = c < 0x800     ? two_byte_cost(c)
                                   : c < 0x10000 ? three_byte_cost(c)
                                                 : four_byte_cost(c);
  return hundredths * kUnit / 100;
}

}  // namespace

std::uint64_t estimate_tokens(std::string_view text) {
  if (text.empty()) return 0;
  std::uint64_t cost = 0;
  std::size_t before = kBegin;
  for (std::size_t at = 0; at < text.size();) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte < kAscii) {
      cost += kPairs[before][byte];
      before = byte;
      ++at;
    } else {
      const Class kind = before == kBegin ? None : before == kBeyond ? Other : class_of(before);
      cost += budget::kClasses[kind][Other] + beyond_ascii_cost(next_code_point(text, at));
      before = kBeyond;
    }
  }
  return kTextTokens + (cost + kUnit - 1) / kUnit;
}

}  // namespace respool
