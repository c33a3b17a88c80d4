#include "schema/opencode/stored_object.h"

#include <array>
#include <string>

#include "schema/opencode/json_text.h"
#include "schema/opencode/record.h"
#include "schema/opencode/utf8.h"

namespace respool {
namespace {

using Split = std::vector<std::pair<std::string_view, std::string_view>>;

bool is_envelope(std::string_view key) {
  return key == "properties" || key == "data" || key == "payload" || key == "syncEvent";
}

// Looks through the envelopes, of two the last one, as the decoder does.
std::optional<std::string_view> find_body(const Split& fields, std::string_view name, int depth) {
  constexpr int kMaxDepth = 4;
  std::optional<std::string_view> found;
  if (depth > kMaxDepth) return found;
  for (const auto& [key, value] : fields) {
    if (!value.starts_with('{')) continue;
    if (key == name) {
      found = value;
    } else if (is_envelope(key)) {
      const auto inner = split_json_object(value);
      const auto body = inner ? find_body(*inner, name, depth + 1) : std::nullopt;
      if (body) found = body;
    }
  }
  return found;
}

std::optional<JsonFields> from_envelope(std::string_view raw, std::string_view name) {
  std::string repaired;
  auto fields = is_valid_utf8(raw) ? split_json_object(raw) : std::nullopt;
  if (!fields) {
    repaired = repaired_json(raw);
    fields = split_json_object(repaired);
  }
  if (!fields) return std::nullopt;
  const auto body = find_body(*fields, name, 0);
  return body ? JsonFields::parse(*body) : std::nullopt;
}

bool is_null(std::optional<std::string_view> value) {
  return !value || *value == "null";
}

// Copies a column under the name of the field it came from; an empty column is an absent field.
void copy(const JsonFields& row,
          std::string_view column,
          JsonFields& object,
          std::string_view field) {
  const auto value = row.get(column);
  if (!is_null(value)) object.set(field, std::string(*value));
}

std::string number_or_zero(const JsonFields& row, std::string_view column) {
  const auto value = row.get(column);
  return is_null(value) ? "0" : std::string(*value);
}

JsonFields token_counts(const JsonFields& row) {
  JsonFields cache;
  cache.set("read", number_or_zero(row, "tokens_cache_read"));
  cache.set("write", number_or_zero(row, "tokens_cache_write"));
  JsonFields tokens;
  for (const auto* name : {"input", "output", "reasoning"})
    tokens.set(name, number_or_zero(row, std::string("tokens_") + name));
  tokens.set("cache", cache.json());
  return tokens;
}

// What OpenCode makes of the columns: `cost` and `tokens` always where it has such columns,
// `summary` where one of its columns is filled.
JsonFields session_of(const JsonFields& row) {
  static constexpr auto kFields = std::to_array<std::pair<const char*, const char*>>({
      {"id", "id"},
      {"slug", "slug"},
      {"project_id", "projectID"},
      {"workspace_id", "workspaceID"},
      {"directory", "directory"},
      {"path", "path"},
      {"parent_id", "parentID"},
      {"title", "title"},
      {"agent", "agent"},
      {"model", "model"},
      {"version", "version"},
  });
  JsonFields session;
  for (const auto& [column, field] : kFields)
    copy(row, column, session, field);
  JsonFields summary;
  for (const auto* name : {"additions", "deletions", "files"}) {
    if (!is_null(row.get(std::string("summary_") + name))) summary.set(name, "0");
  }
  if (!summary.fields().empty()) {
    for (const auto* name : {"additions", "deletions", "files"})
      summary.set(name, number_or_zero(row, std::string("summary_") + name));
    copy(row, "summary_diffs", summary, "diffs");
    session.set("summary", summary.json());
  }
  copy(row, "cost", session, "cost");
  if (row.has("tokens_input")) session.set("tokens", token_counts(row).json());
  if (!is_null(row.get("share_url"))) {
    JsonFields share;
    copy(row, "share_url", share, "url");
    session.set("share", share.json());
  }
  copy(row, "metadata", session, "metadata");
  copy(row, "revert", session, "revert");
  copy(row, "permission", session, "permission");
  JsonFields time;
  for (const auto* name : {"created", "updated", "compacting", "archived"})
    copy(row, std::string("time_") + name, time, name);
  session.set("time", time.json());
  return session;
}

std::optional<JsonFields> from_row(std::string_view raw, ObjectKind kind) {
  const auto row = JsonFields::parse(raw);
  if (!row) return std::nullopt;
  const auto table = row->text("table");
  if (kind == ObjectKind::Session)
    return table == "session" ? std::optional(session_of(*row)) : std::nullopt;
  if (table != (kind == ObjectKind::Message ? "message" : "part")) return std::nullopt;
  auto object = row->object("data");
  if (!object) return std::nullopt;
  copy(*row, "id", *object, "id");
  copy(*row, "session_id", *object, "sessionID");
  copy(*row, "message_id", *object, "messageID");
  return object;
}

}  // namespace

std::optional<JsonFields> stored_object(std::string_view raw, Shape shape, ObjectKind kind) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (raw.starts_with(kByteOrderMark)) raw.remove_prefix(kByteOrderMark.size());
  if (raw.size() > kDecodeLimitBytes) return std::nullopt;
  if (is_state_shape(shape)) return JsonFields::parse(raw);
  if (shape == Shape::DatabaseRow) return from_row(raw, kind);
  return from_envelope(raw, kind == ObjectKind::Part ? "part" : "info");
}

}  // namespace respool
