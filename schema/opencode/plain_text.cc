#include "schema/opencode/plain_text.h"

#include <algorithm>

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

// Past the text of an OSC sequence, such as a title or a link, which ends in BEL or in ESC and
// "\\".
std::size_t skip_operating_system_command(std::string_view text, std::size_t at) {
  for (; at < text.size(); ++at) {
    if (text[at] == '\a') return at + 1;
    if (text[at] == '\x1b') return at + (text.substr(at + 1).starts_with('\\') ? 2 : 0);
  }
  return at;
}

// Past an escape sequence that starts at `at`, which holds ESC.
std::size_t skip_escape_sequence(std::string_view text, std::size_t at) {
  ++at;
  if (at < text.size() && text[at] == ']') return skip_operating_system_command(text, at + 1);
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

}  // namespace respool
