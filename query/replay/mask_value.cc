#include "query/replay/mask_value.h"

#include <algorithm>
#include <array>
#include <string>

namespace respool {
namespace {

constexpr std::size_t kLeastBytes = 8;
constexpr std::size_t kMostBytes = 4096;
constexpr std::size_t kRandomBytes = 16;

bool is_letter(char c) {
  return is_lower(c) || is_upper(c);
}

// How a run of letters and digits falls into words: "Summer2024" is two, "x7Kp" is four.
std::size_t count_words(std::string_view run) {
  std::size_t words = 0;
  for (std::size_t i = 0; i < run.size(); ++i) {
    const char c = run[i];
    const char before = i > 0 ? run[i - 1] : ' ';
    if (i == 0 || is_digit(c) != is_digit(before)) {
      ++words;
    } else if (is_upper(c) && is_lower(before)) {
      ++words;
    } else if (is_lower(c) && is_upper(before) && i > 1 && is_upper(run[i - 2])) {
      ++words;  // "HTMLElement"
    }
  }
  return words;
}

// Calls `visit` with each run of letters and digits.
template <class Visit>
void each_run(std::string_view value, Visit visit) {
  for (std::size_t at = 0; at < value.size();) {
    std::size_t end = at;
    while (end < value.size() && is_alnum(value[end]))
      ++end;
    if (end > at) visit(value.substr(at, end - at));
    at = std::max(end, at + 1);
  }
}

std::size_t distinct_bytes(std::string_view value) {
  std::array<bool, 256> seen{};
  for (const char c : value)
    seen[static_cast<unsigned char>(c)] = true;
  return static_cast<std::size_t>(std::count(seen.begin(), seen.end(), true));
}

// Runs such as 12345678, abcdefgh, aaaaaaaa: most bytes follow from the one before.
bool is_sequence(std::string_view value) {
  std::size_t steps = 0;
  for (std::size_t i = 1; i < value.size(); ++i) {
    const int step = value[i] - value[i - 1];
    if (step >= -1 && step <= 1) ++steps;
  }
  return steps * 10 >= value.size() * 6;
}

struct Classes {
  bool letter = false;
  bool lower = false;
  bool digit = false;
  bool symbol = false;
  bool other = false;  // neither printable ASCII nor a character beyond it, or a space
};

Classes classes_of(std::string_view value) {
  Classes found;
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (is_letter(c)) {
      found.letter = true;
      found.lower |= is_lower(c);
    } else if (is_digit(c)) {
      found.digit = true;
    } else if (byte <= ' ' || byte == 0x7F) {
      found.other = true;
    } else if (c != '_' && c != '-' && c != '.' && c != '/' && c != ':') {
      found.symbol = true;
    }
  }
  return found;
}

// Names, versions, paths, dates: words with at most a number behind each.
bool is_wordy(std::string_view value) {
  bool wordy = !classes_of(value).symbol;
  each_run(value, [&](std::string_view run) {
    const auto digit = std::find_if(run.begin(), run.end(), is_digit);
    wordy &= std::all_of(digit, run.end(), is_digit);  // no letter after a digit
    wordy &= run.end() - digit <= 4;                   // and few digits
    wordy &= count_words(run) * 3 <= run.size() || run.size() <= 4;
  });
  return wordy;
}

// What code writes in a value's place: a call, an index, a member, a variable of a shell.
bool is_expression(std::string_view value) {
  constexpr std::string_view kOperators = "()[]{}$<>|\\`'\"";
  return value.find_first_of(kOperators) != std::string_view::npos ||
         value.find("->") != std::string_view::npos || value.find("::") != std::string_view::npos ||
         std::string_view("&*@!?.").find(value.front()) != std::string_view::npos;
}

// name(...), name[...]
bool is_call(std::string_view value) {
  const std::size_t open = value.find_first_of("([");
  return open != std::string_view::npos && open > 0 && is_alnum(value[open - 1]) &&
         (value.back() == ')' || value.back() == ']');
}

bool is_path(std::string_view value) {
  return value.find("://") != std::string_view::npos ||
         ((value.front() == '/' || value.front() == '~' || value.front() == '.') &&
          !looks_random(value));
}

bool is_password(std::string_view value, Written written, const Classes& classes) {
  if (written == Written::EnvLine) return !is_call(value);
  if (!classes.digit && !classes.symbol) {
    return written == Written::Quoted && value.size() >= 16 &&
           count_words(value) * 4 > value.size();
  }
  if (!classes.letter) return classes.symbol && classes.digit;
  if (written == Written::Quoted) return classes.lower || !is_wordy(value);
  return classes.digit && !is_wordy(value);
}

}  // namespace

bool contains_folded(std::string_view text, std::string_view word) {
  const auto same = [](char a, char b) { return fold(a) == b; };
  return std::search(text.begin(), text.end(), word.begin(), word.end(), same) != text.end();
}

bool looks_random(std::string_view value) {
  std::size_t bytes = 0;
  std::size_t words = 0;
  bool digit = false;
  bool woven = false;  // one long run in which letters and digits change places, as in a hash
  each_run(value, [&](std::string_view run) {
    const std::size_t here = count_words(run);
    bytes += run.size();
    words += here;
    std::size_t changes = 0;
    for (std::size_t i = 0; i < run.size(); ++i) {
      digit |= is_digit(run[i]);
      if (i > 0) changes += is_digit(run[i]) != is_digit(run[i - 1]) ? 1 : 0;
    }
    woven |= run.size() >= kRandomBytes && changes >= 3 && here * 5 > run.size();
  });
  if (bytes < kRandomBytes || distinct_bytes(value) < 7) return false;
  // Names have words of four letters and more. Without a digit it takes more to be sure.
  if (!digit) return bytes >= 20 && words * 3 > bytes;
  return woven || words * 3 > bytes;
}

// $NAME, %NAME%, {name}, <name>, [name]: a place for a value, not one.
bool is_variable(std::string_view value) {
  const char first = value.front();
  if (first == '{' || first == '<' || first == '[') return true;
  if (first != '$' && first != '%') return false;
  return std::all_of(value.begin() + 1,
                     value.end(),
                     [](char c) { return is_alnum(c) || c == '_' || c == '%'; }) &&
         !looks_random(value);
}

bool is_stand_in(std::string_view value) {
  constexpr std::array<std::string_view, 17> kAnywhere = {"changeme",
                                                          "change_me",
                                                          "change-me",
                                                          "placeholder",
                                                          "redacted",
                                                          "example",
                                                          "yourtoken",
                                                          "yoursecret",
                                                          "process.env",
                                                          "os.environ",
                                                          "import.meta",
                                                          "****",
                                                          "....",
                                                          "…",
                                                          "${",
                                                          "$(",
                                                          "{{"};
  // Short ones may stand in random text by chance.
  constexpr std::array<std::string_view, 15> kInWords = {"change-this",
                                                         "changethis",
                                                         "your_",
                                                         "your-",
                                                         "yourkey",
                                                         "yourapi",
                                                         "yourpass",
                                                         "replace",
                                                         "insert",
                                                         "dummy",
                                                         "xxxx",
                                                         "%(",
                                                         "getenv",
                                                         "fake",
                                                         "sample"};
  constexpr std::array<std::string_view, 15> kFirst = {"password",
                                                       "passwd",
                                                       "passphrase",
                                                       "secret",
                                                       "token",
                                                       "apikey",
                                                       "api_key",
                                                       "api-key",
                                                       "test",
                                                       "my-",
                                                       "my_",
                                                       "admin",
                                                       "string",
                                                       "default",
                                                       "undefined"};
  constexpr std::size_t kHead = 256;  // a longer value is none, whatever it holds behind
  value = value.substr(0, kHead);
  if (value.empty() || is_sequence(value) || distinct_bytes(value) < 4) return true;
  if (is_variable(value)) return true;
  const auto inside = [&](std::string_view word) { return contains_folded(value, word); };
  if (std::any_of(kAnywhere.begin(), kAnywhere.end(), inside)) return true;
  if (looks_random(value)) return false;
  if (std::any_of(kInWords.begin(), kInWords.end(), inside)) return true;
  return std::any_of(kFirst.begin(), kFirst.end(), [&](std::string_view word) {
    return contains_folded(value.substr(0, word.size()), word);
  });
}

bool looks_secret(std::string_view value, Written written, Holds holds) {
  if (value.size() < kLeastBytes || value.size() > kMostBytes) return false;
  const Classes classes = classes_of(value);
  if (classes.other || is_stand_in(value) || is_path(value)) return false;
  if (written == Written::Bare && is_expression(value)) return false;
  if (looks_random(value)) return true;
  if (holds == Holds::Password) return is_password(value, written, classes);
  return written != Written::Bare && value.size() >= 12 && classes.letter && classes.digit &&
         !is_wordy(value);
}

bool is_recognizable(std::string_view value) {
  constexpr std::size_t kLeast = 12;
  if (value.size() < kLeast || value.size() > kMostBytes || is_stand_in(value)) return false;
  const Classes classes = classes_of(value);
  return looks_random(value) ||
         (classes.letter && (classes.digit || classes.symbol) && !is_wordy(value));
}

bool starts_word(std::string_view text, std::size_t at) {
  if (at == 0) return true;
  const char before = text[at - 1];
  if (!is_alnum(before) && before != '_') return true;
  const auto back = [&](std::size_t n) { return at >= n ? text[at - n] : ' '; };
  if (back(2) == '\\' && (before == 'n' || before == 't' || before == 'r')) return true;
  if (back(3) == '%' && is_hex(back(2)) && is_hex(before)) return true;
  if (back(6) == '\\' && back(5) == 'u') return true;
  if (before != 'm') return false;  // ESC [ 3 2 m
  std::size_t digits = 2;
  while (digits < 12 && (is_digit(back(digits)) || back(digits) == ';'))
    ++digits;
  return back(digits) == '[';
}

bool ends_word(std::string_view text, std::size_t at) {
  return at >= text.size() || !(is_alnum(text[at]) || text[at] == '_');
}

}  // namespace respool
