#include "schema/opencode/path_map.h"

#include <array>
#include <charconv>
#include <vector>

#include <fmt/format.h>

#include "schema/opencode/json_fields.h"
#include "schema/opencode/json_text.h"
#include "schema/opencode/utf8.h"

namespace respool {
namespace {

constexpr auto kPathKeys = std::to_array<std::string_view>({
    "filePath",
    "filepath",
    "file_path",
    "file",
    "path",
    "cwd",
    "workdir",
    "directory",
    "dir",
});

bool holds_one_path(std::string_view key) {
  for (const auto& known : kPathKeys) {
    if (key == known) return true;
  }
  return false;
}

bool is_separator(char32_t c) {
  return c == U'/' || c == U'\\';
}

// What may stand in a component of a path that is written without quotes. Brackets and dollars are
// here because what they expand to is unknown.
bool is_of_component(char32_t c) {
  return (c >= U'a' && c <= U'z') || (c >= U'A' && c <= U'Z') || (c >= U'0' && c <= U'9') ||
         c >= 0x80 || std::u32string_view(U"_-.+@%~}]*?$)#").find(c) != std::u32string_view::npos;
}

std::string_view without_end_separators(std::string_view path) {
  while (!path.empty() && (path.back() == '/' || path.back() == '\\'))
    path.remove_suffix(1);
  return path;
}

bool is_absolute(std::string_view path) {
  return path.starts_with('/') || (path.size() > 2 && path[1] == ':' && path[2] == '\\');
}

// The inside of a JSON string, character by character: what each stands for and where it begins.
struct Characters {
  std::u32string codes;
  std::vector<std::size_t> places;  // one more than codes: the end
};

Characters characters(std::string_view raw) {
  Characters all;
  for (std::size_t at = 0; at < raw.size();) {
    all.places.push_back(at);
    if (raw[at] != '\\' || at + 1 >= raw.size()) {
      all.codes.push_back(next_code_point(raw, at));
      continue;
    }
    const char kind = raw[at + 1];
    if (kind == 'u' && at + 6 <= raw.size()) {
      unsigned code = 0;
      std::from_chars(raw.data() + at + 2, raw.data() + at + 6, code, 16);
      all.codes.push_back(static_cast<char32_t>(code));  // a half of a pair stays a half
      at += 6;
    } else {
      const bool itself = kind == '"' || kind == '\\' || kind == '/';
      all.codes.push_back(itself ? static_cast<char32_t>(kind) : U'\n');
      at += 2;
    }
  }
  all.places.push_back(raw.size());
  return all;
}

// True where a path may begin at `at`: at the start, or after what belongs to no path. After "://"
// a path begins too.
bool begins(std::u32string_view codes, std::size_t at, bool whole_path) {
  if (at == 0) return true;
  const bool after_scheme = at >= 3 && codes.substr(at - 3, 3) == U"://";
  if (after_scheme) return true;
  if (whole_path) return false;
  return !is_of_component(codes[at - 1]) && !is_separator(codes[at - 1]);
}

bool ends(std::u32string_view codes, std::size_t at, bool whole_path) {
  if (at == codes.size() || is_separator(codes[at])) return true;
  return !whole_path && !is_of_component(codes[at]);
}

}  // namespace

PathMap::PathMap(std::string_view from, std::string_view to) {
  const std::string_view old_path = without_end_separators(from);
  const std::string_view new_path = without_end_separators(to);
  if (old_path.empty() || new_path.empty() || old_path == new_path || !is_absolute(old_path) ||
      !is_absolute(to))
    return;
  for (std::size_t at = 0; at < old_path.size();)
    from_.push_back(next_code_point(old_path, at));
  const std::string quoted = json_string(new_path);
  to_ = quoted.substr(1, quoted.size() - 2);
}

std::string PathMap::mapped(std::string_view json) const {
  return maps() ? value(json, false, 0) : std::string(json);
}

std::string PathMap::value(std::string_view json, bool whole_path, int depth) const {
  constexpr int kMaxDepth = 64;  // deeper values are left as they are
  if (json.empty() || depth > kMaxDepth) return std::string(json);
  if (json.front() == '"') return string(json, whole_path);
  if (json.front() == '{') {
    const auto fields = split_json_object(json);
    if (!fields) return std::string(json);
    std::string out = "{";
    for (const auto& [key, field] : *fields) {
      if (out.size() > 1) out.push_back(',');
      out += fmt::format("\"{}\":", key);
      out += value(field, holds_one_path(key), depth + 1);
    }
    return out + "}";
  }
  if (json.front() != '[') return std::string(json);
  const auto elements = split_json_array(json);
  if (!elements) return std::string(json);
  std::string out = "[";
  for (const auto& element : *elements) {
    if (out.size() > 1) out.push_back(',');
    out += value(element, whole_path, depth + 1);
  }
  return out + "]";
}

std::string PathMap::string(std::string_view quoted, bool whole_path) const {
  const std::string_view raw = quoted.substr(1, quoted.size() - 2);
  const Characters all = characters(raw);
  const std::u32string_view codes = all.codes;
  std::string out = "\"";
  std::size_t copied = 0;
  for (std::size_t at = codes.find(from_); at != std::u32string_view::npos;
       at = codes.find(from_, at)) {
    const std::size_t end = at + from_.size();
    if (!begins(codes, at, whole_path) || !ends(codes, end, whole_path)) {
      ++at;
      continue;
    }
    out += raw.substr(copied, all.places[at] - copied);
    out += to_;
    copied = all.places[end];
    at = end;
  }
  out += raw.substr(copied);
  out.push_back('"');
  return out;
}

}  // namespace respool
