#include "query/replay/quote.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

#include "schema/opencode/utf8.h"

namespace respool {
namespace {

constexpr std::string_view kOpen = "\xE2\x9F\xA6";   // ⟦
constexpr std::string_view kClose = "\xE2\x9F\xA7";  // ⟧

// Cannot be seen, turns text around, breaks lines for some readers, or is obeyed by terminals.
bool is_deceptive(char32_t code) {
  if (code < 0x20) return code != U'\n' && code != U'\t';
  if (code >= 0x7F && code <= 0x9F) return true;
  return code == 0xAD || code == 0x61C || code == 0x115F || code == 0x1160 || code == 0x180E ||
         code == 0x3164 || code == 0xFFA0 || (code >= 0x200B && code <= 0x200F) ||
         (code >= 0x2028 && code <= 0x202E) || (code >= 0x2060 && code <= 0x206F) ||
         (code >= 0xFE00 && code <= 0xFE0E) || (code >= 0xFFF9 && code <= 0xFFFB) ||
         code == 0xFEFF || (code >= 0xE0000 && code <= 0xE0FFF);
}

// What chat templates, and prompts built by hand, use to part turns, and our own envelope. Of each
// the first character is enough to make it inert.
constexpr auto kMarks = std::to_array<std::string_view>({
    "<\xEF\xBD\x9C",
    "<s>",
    "</s>",
    "<<SYS>>",
    "<</SYS>>",
    "[INST]",
    "[/INST]",
    "<start_of_turn>",
    "<end_of_turn>",
    "<bos>",
    "<eos>",
    "<system",
    "</system",
    "<respool-replay",
    "</respool-replay",
});

bool is_small(char c) {
  return (c >= 'a' && c <= 'z') || c == '_';
}

bool begins_mark(std::string_view rest) {
  if (rest.front() != '<' && rest.front() != '[') return false;
  if (rest.size() > 2 && rest.starts_with("<|") && is_small(rest[2])) return true;
  return std::any_of(
      kMarks.begin(), kMarks.end(), [&](std::string_view mark) { return rest.starts_with(mark); });
}

// Text that looks like an escape of ours is escaped itself, so that all can be undone.
bool begins_escape(std::string_view rest) {
  if (!rest.starts_with(kOpen)) return false;
  rest.remove_prefix(kOpen.size());
  return rest.starts_with("u+") || rest.starts_with("x+");
}

void append_code(std::string& out, char32_t code) {
  out += fmt::format("{}u+{:x}{}", kOpen, static_cast<std::uint32_t>(code), kClose);
}

// The end of the longest stretch from `at` on that stands for itself.
std::size_t plain_until(std::string_view text, std::size_t at) {
  while (at < text.size()) {
    const auto c = static_cast<unsigned char>(text[at]);
    const bool plain = c >= 0x20 && c < 0x7F && c != '<' && c != '[';
    if (!plain && c != '\n' && c != '\t') break;
    ++at;
  }
  return at;
}

std::string escape(std::string_view text, bool on_one_line) {
  std::string out;
  out.reserve(text.size() + text.size() / 16);
  for (std::size_t at = 0; at < text.size();) {
    if (!on_one_line) {
      const std::size_t end = plain_until(text, at);
      out += text.substr(at, end - at);
      at = end;
      if (at == text.size()) break;
    }
    const std::string_view rest = text.substr(at);
    const std::size_t begin = at;
    const char32_t code = next_code_point(text, at);
    const std::string_view bytes = text.substr(begin, at - begin);
    const bool bad = code == 0xFFFD && bytes.size() != 3;
    const bool line_end = bytes == "\r" && rest.starts_with("\r\n") && !on_one_line;
    const bool breaks_line = on_one_line && (code == U'\n' || code == U'\t');
    if (bad) {
      out += fmt::format("{}x+{:02x}{}", kOpen, static_cast<unsigned char>(bytes.front()), kClose);
    } else if (!line_end &&
               (breaks_line || is_deceptive(code) || begins_mark(rest) || begins_escape(rest))) {
      append_code(out, code);
    } else {
      out += bytes;
    }
  }
  return out;
}

// Reads "⟦u+1b⟧" or "⟦x+ff⟧" at the front of `text`; its length, 0 where there is none.
std::size_t read_escape(std::string_view text, std::string& out) {
  constexpr std::size_t kMaxDigits = 6;
  if (!begins_escape(text)) return 0;
  const bool byte = text[kOpen.size()] == 'x';
  const std::size_t digits = kOpen.size() + 2;
  const auto end = text.substr(0, digits + kMaxDigits + kClose.size()).find(kClose, digits);
  if (end == std::string_view::npos) return 0;
  std::uint32_t code = 0;
  const auto [rest, error] = std::from_chars(text.data() + digits, text.data() + end, code, 16);
  if (error != std::errc() || rest != text.data() + end) return 0;
  if (byte) {
    out.push_back(static_cast<char>(code));
  } else {
    append_utf8(out, code);
  }
  return end + kClose.size();
}

}  // namespace

std::string escape_content(std::string_view text) {
  return escape(text, false);
}

std::string escape_line(std::string_view text) {
  return escape(text, true);
}

std::string unescape_content(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto open = std::min(text.find(kOpen), text.size());
    out += text.substr(0, open);
    text.remove_prefix(open);
    if (text.empty()) break;
    const std::size_t length = read_escape(text, out);
    if (length == 0) out += text.substr(0, kOpen.size());
    text.remove_prefix(length == 0 ? kOpen.size() : length);
  }
  return out;
}

std::string quote(std::string_view label, std::string_view text) {
  if (text.empty()) return {};
  const std::string escaped = escape_content(text);
  std::string quoted;
  quoted.reserve(escaped.size() + escaped.size() / 16 + label.size() + 4);
  if (!label.empty()) quoted.append(label).push_back('\n');
  std::string_view rest = escaped;
  while (true) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    quoted.append("| ").append(rest.substr(0, end)).push_back('\n');
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
