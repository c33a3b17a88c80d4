#include "ingest/source/database_table.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>

#include <fmt/format.h>

#include "schema/base64.h"
#include "schema/opencode/json_text.h"
#include "schema/opencode/utf8.h"

namespace respool {
namespace {

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return result;
}

template <class Words>
bool contains_any(std::string_view name, const Words& words) {
  const std::string plain = lower(name);
  return std::any_of(std::begin(words), std::end(words), [&](std::string_view word) {
    return plain.find(word) != std::string::npos;
  });
}

// Columns that hold what people wrote, which may look like JSON by chance.
bool is_plain_column(std::string_view name) {
  return name == "title" || name == "content" || name == "name" || name == "directory" ||
         name == "worktree" || name == "path";
}

}  // namespace

int DatabaseTable::column(std::string_view wanted) const {
  const auto at = std::find(columns.begin(), columns.end(), wanted);
  return at == columns.end() ? -1 : static_cast<int>(at - columns.begin());
}

bool DatabaseTable::is_event_log() const {
  return name == "event" &&
         columns == std::vector<std::string>{"id", "aggregate_id", "seq", "type", "data"};
}

std::string_view DatabaseTable::session_column() const {
  if (name == "event") return "aggregate_id";
  return name == "session" || name == "sessions" || name == "session_v2" ? "id" : "session_id";
}

std::string DatabaseTable::selected(bool sizes) const {
  std::string list = rowid;
  for (const auto& column : columns) {
    if (!list.empty()) list += ", ";
    const std::string quoted = quoted_name(column);
    list += sizes && column == "data" ? fmt::format("typeof({})", quoted) : quoted;
  }
  return list;
}

bool is_refused_table(std::string_view name) {
  static constexpr std::string_view kWords[] = {
      "account", "credential", "token", "secret", "share", "auth", "migration", "drizzle"};
  return contains_any(name, kWords) || lower(name).starts_with("sqlite_");
}

bool is_secret_column(std::string_view name) {
  static constexpr std::string_view kWords[] = {
      "access_token", "refresh_token", "api_key", "apikey", "secret", "password", "credential"};
  return contains_any(name, kWords);
}

std::string quoted_name(std::string_view name) {
  std::string text = "\"";
  for (const char c : name)
    text.append(c == '"' ? 2 : 1, c);
  return text + '"';
}

std::string database_uri(const std::string& file, std::string_view options) {
  std::string uri = "file:";
  for (const char c : file) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                       c == '/' || c == '-' || c == '_' || c == '.';
    uri += plain ? std::string(1, c) : fmt::format("%{:02x}", static_cast<unsigned char>(c));
  }
  return uri.append(options);
}

void append_text_value(std::string& out, std::string_view column, std::string_view text) {
  const bool may_be_json = text.starts_with('{') || text.starts_with('[');
  if (!is_valid_utf8(text)) {
    append_bytes_value(out, text);
  } else if (may_be_json && !is_plain_column(column) && is_valid_json(text)) {
    out += text;
  } else {
    append_json_string(out, text);
  }
}

void append_bytes_value(std::string& out, std::string_view bytes) {
  out += fmt::format(R"({{"base64":"{}"}})", base64(bytes));
}

void append_real_value(std::string& out, double number) {
  if (!std::isfinite(number)) {
    out += std::isnan(number) ? "null" : number > 0 ? R"("Infinity")" : R"("-Infinity")";
    return;
  }
  char digits[32];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}

}  // namespace respool
