#include "query/replay/quote.h"

#include <algorithm>

#include <fmt/format.h>

#include "schema/opencode/utf8.h"

namespace respool {
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
