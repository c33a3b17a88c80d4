#include "schema/opencode/json_text.h"

#include <fmt/format.h>

#include "schema/opencode/utf8.h"

namespace respool {
namespace {

bool is_plain(char c) {
  return static_cast<unsigned char>(c) >= 0x20 && static_cast<unsigned char>(c) < 0x7F &&
         c != '"' && c != '\\';
}

void append_escaped(std::string& out, char32_t code) {
  switch (code) {
    case U'"':
      out += "\\\"";
      return;
    case U'\\':
      out += "\\\\";
      return;
    case U'\n':
      out += "\\n";
      return;
    case U'\r':
      out += "\\r";
      return;
    case U'\t':
      out += "\\t";
      return;
    case U'\b':
      out += "\\b";
      return;
    case U'\f':
      out += "\\f";
      return;
    default:
      break;
  }
  if (code < 0x20 || code == 0x7F || code == 0x2028 || code == 0x2029) {
    out += fmt::format("\\u{:04x}", static_cast<unsigned>(code));
  } else {
    append_utf8(out, code);
  }
}

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
  out.push_back('"');
  for (std::size_t at = 0; at < text.size();) {
    std::size_t run = at;
    while (run < text.size() && is_plain(text[run]))
      ++run;
    out.append(text.substr(at, run - at));
    at = run;
    if (at < text.size()) append_escaped(out, next_code_point(text, at));
  }
  out.push_back('"');
}

std::string json_string(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 2);
  append_json_string(out, text);
  return out;
}

std::string minify_json(std::string_view raw) {
  std::string compact;
  compact.reserve(raw.size());
  bool in_string = false;
  for (std::size_t i = 0; i < raw.size(); ++i) {
    const char c = raw[i];
    if (!in_string && (c == ' ' || c == '\n' || c == '\r' || c == '\t')) continue;
    compact.push_back(c);
    if (in_string && c == '\\' && i + 1 < raw.size()) {
      compact.push_back(raw[++i]);
    } else if (c == '"') {
      in_string = !in_string;
    }
  }
  return compact;
}

std::string repaired_json(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  const std::string clean = to_valid_utf8(text);
  std::string repaired;
  repaired.reserve(clean.size() + 16);
  bool in_string = false;
  bool escaped = false;
  for (const char c : clean) {
    const auto byte = static_cast<unsigned char>(c);
    if (in_string && byte < 0x20) {
      repaired += "\\u00";
      repaired.push_back(kHex[byte >> 4]);
      repaired.push_back(kHex[byte & 15]);
      escaped = false;
      continue;
    }
    repaired.push_back(c);
    if (!in_string) {
      in_string = c == '"';
    } else if (escaped) {
      escaped = false;
    } else if (c == '\\') {
      escaped = true;
    } else if (c == '"') {
      in_string = false;
    }
  }
  return repaired;
}

}  // namespace respool
