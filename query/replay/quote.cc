#include "query/replay/quote.h"

#include <algorithm>

#include <fmt/format.h>

#include "schema/opencode/utf8.h"

namespace respool {
namespace {

bool is_deceptive(char32_t code) {
  if (code < 0x20) return code != U'\n' && code != U'\t';
  if (code >= 0x7F && code <= 0x9F) return true;
  return (code >= 0x200B && code <= 0x200F) || (code >= 0x202A && code <= 0x202E) ||
         (code >= 0x2060 && code <= 0x2064) || (code >= 0x2066 && code <= 0x206F) ||
         code == 0xFEFF || (code >= 0xE0000 && code <= 0xE007F);
}

// Past an escape sequence that starts at `at`, which holds ESC.
std::size_t skip_escape_sequence(std::string_view text, std::size_t at) {
  ++at;
  if (at >= text.size() || text[at] != '[') return at;
  ++at;
  while (at < text.size() && (text[at] < '@' || text[at] > '~'))
    ++at;
  return std::min(at + 1, text.size());
}

}  // namespace

std::string plain_text(std::string_view text) {
  std::string plain;
  plain.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '\x1b') {
      at = skip_escape_sequence(text, at);
      continue;
    }
    const char32_t code = next_code_point(text, at);
    // Separators that some readers take for line ends would start lines without a mark.
    if (code == 0x2028 || code == 0x2029) {
      plain.push_back('\n');
    } else if (!is_deceptive(code)) {
      append_utf8(plain, code);
    }
  }
  return plain;
}

std::string one_line(std::string_view text) {
  std::string line = plain_text(text);
  std::replace_if(
      line.begin(), line.end(), [](char c) { return c == '\n' || c == '\t'; }, ' ');
  return line;
}

std::string quote(std::string_view label, std::string_view text) {
  if (text.empty()) return {};
  const std::string plain = plain_text(text);
  std::string quoted = label.empty() ? "" : fmt::format("{}:\n", label);
  std::string_view rest = plain;
  while (true) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    quoted += fmt::format("| {}\n", rest.substr(0, end));
    if (end == rest.size()) return quoted;
    rest.remove_prefix(end + 1);
  }
}

std::string_view clip_front(std::string_view text, std::size_t bytes) {
  return text.substr(0, utf8_boundary(text, bytes));
}

std::string_view clip_back(std::string_view text, std::size_t bytes) {
  std::size_t begin = text.size() > bytes ? text.size() - bytes : 0;
  while (begin < text.size() && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80)
    ++begin;
  return text.substr(begin);
}

}  // namespace respool
