#include "schema/opencode/decode_row.h"

#include <algorithm>
#include <array>

#include "schema/ids.h"
#include "schema/money.h"
#include "schema/opencode/decode_part.h"

namespace respool::decode_detail {
namespace {

using json::each_field;
using json::Object;
using json::Value;

// The tables of OpenCode 1.x that a session's facts need nothing of.
constexpr auto kPassingTables = std::to_array<std::string_view>({
    "event_sequence",
    "permission",
    "project",
    "project_directory",
    "session_context_epoch",
    "session_input",
    "todo",
    "workspace",
});

// What the columns of a row say, whichever table it is of.
struct Columns {
  std::string table;
  std::string id;
  std::string session;
  std::string message;
  std::optional<std::int64_t> created_ms;
  std::optional<std::int64_t> updated_ms;
  fb::SessionRowT as_session;
  std::string data;  // the column as written
};

void read_model(Value& value, fb::SessionRowT& session) {
  auto object = json::object_of(value);
  if (!object) return;
  each_field(*object, [&](std::string_view key, Value field) {
    if (key == "id" || key == "modelID") session.model = json::text(field, kNameBytes);
    if (key == "providerID") session.provider = json::text(field, kNameBytes);
  });
}

void read_revert(Value& value, fb::SessionRowT& session) {
  auto object = json::object_of(value);
  if (!object) return;
  each_field(*object, [&](std::string_view key, Value field) {
    if (key == "messageID") session.revert_message = json::text(field, kNameBytes);
    if (key == "partID") session.revert_part = json::text(field, kNameBytes);
  });
}

// The columns of table `session` that are plain texts.
std::string* session_text(std::string_view column, fb::SessionRowT& session) {
  if (column == "title") return &session.title;
  if (column == "directory") return &session.directory;
  if (column == "path") return &session.path;
  if (column == "project_id") return &session.project;
  if (column == "parent_id") return &session.parent;
  if (column == "version") return &session.opencode_version;
  if (column == "agent") return &session.agent;
  return nullptr;
}

void read_session_column(std::string_view column, Value& field, fb::SessionRowT& session) {
  constexpr std::size_t kTextBytes = 4096;
  if (std::string* const text = session_text(column, session)) {
    *text = json::text(field, kTextBytes);
  } else if (column == "time_archived") {
    session.archived_ms = json::time_ms(field);
  } else if (column == "cost") {
    session.cost_nanos = nanos_from_decimal(json::number_token(field));
  } else if (column == "model") {
    read_model(field, session);
  } else if (column == "revert") {
    read_revert(field, session);
  } else if (column.starts_with("tokens_")) {
    session.has_tokens = true;
    const std::int64_t count = std::max<std::int64_t>(0, json::integer(field).value_or(0));
    if (column == "tokens_input") session.tokens.mutate_input(count);
    if (column == "tokens_output") session.tokens.mutate_output(count);
    if (column == "tokens_reasoning") session.tokens.mutate_reasoning(count);
    if (column == "tokens_cache_read") session.tokens.mutate_cache_read(count);
    if (column == "tokens_cache_write") session.tokens.mutate_cache_write(count);
  }
}

// False where the JSON breaks off.
bool read_columns(Object object, Columns& columns) {
  return each_field(object, [&](std::string_view key, Value field) {
    if (key == "table") {
      columns.table = json::text(field, kNameBytes);
    } else if (key == "id") {
      columns.id = json::text(field, 256);
    } else if (key == "session_id") {
      columns.session = json::text(field, 300);
    } else if (key == "message_id") {
      columns.message = json::text(field, 256);
    } else if (key == "time_created") {
      columns.created_ms = json::time_ms(field);
    } else if (key == "time_updated") {
      columns.updated_ms = json::time_ms(field);
    } else if (key == "data") {
      columns.data = json::raw_json(field);
    } else {
      read_session_column(key, field, columns.as_session);
    }
  });
}

void set_session_body(Record& record, Columns& columns) {
  record.kind = Kind::SessionState;
  record.session = columns.id;
  auto& session = columns.as_session;
  session.id = columns.id;
  session.created_ms = columns.created_ms;
  session.updated_ms = columns.updated_ms;
  record.body = std::move(session);
}

// The column `data` is the message's or the part's own JSON, without the ids that stand beside it.
void set_data_body(json::Reader& reader, Record& record, const Columns& columns, Notes& notes) {
  const bool message = columns.table == "message";
  record.kind = message ? Kind::MessageState : Kind::PartState;
  record.session = columns.session;
  const auto object = reader.load(columns.data) ? reader.object() : std::nullopt;
  if (!object) {
    notes.problem(kUnknownVariant, "a row whose data is no object");
    return;
  }
  if (message) {
    Info info;
    read_info(*object, info, notes);
    info.as_message.id = columns.id;
    if (!info.as_message.created_ms) info.as_message.created_ms = columns.created_ms;
    record.time_ms = info.as_message.created_ms;
    if (!is_plain_id(columns.id) || !info.has_role) {
      notes.problem(kUnknownVariant, "a message row without id or role");
      return;
    }
    record.body = std::move(info.as_message);
    return;
  }
  fb::PartRowT part;
  std::string named_session;
  read_part(*object, part, named_session, notes);
  part.id = columns.id;
  part.message = columns.message;
  record.time_ms = part.start_ms ? std::optional<std::int64_t>(*part.start_ms) : columns.created_ms;
  if (!is_plain_id(part.id) || !is_plain_id(part.message)) {
    notes.problem(kUnknownVariant, "a part row without ids");
    return;
  }
  record.body = std::move(part);
}

}  // namespace

Record decode_database_row(json::Reader& reader, std::string_view raw) {
  Record record;
  record.shape = Shape::DatabaseRow;
  Notes notes;
  Columns columns;
  const auto object = reader.load(raw) ? reader.object() : std::nullopt;
  if (!object) {
    record.problems = kMalformed;
    return record;
  }
  notes.broken = !read_columns(*object, columns);
  const bool repaired = reader.repaired();
  record.wire_type = columns.table;
  record.time_ms = columns.created_ms;
  record.latest_ms = columns.updated_ms ? columns.updated_ms : columns.created_ms;
  if (columns.table == "session") {
    set_session_body(record, columns);
  } else if (columns.table == "message" || columns.table == "part") {
    set_data_body(reader, record, columns, notes);
  } else {
    const bool passing = std::ranges::find(kPassingTables, columns.table) != kPassingTables.end();
    record.kind = passing ? Kind::Passing : Kind::Foreign;
    record.session = columns.session;
  }
  if (!record.session.empty() && !is_session_id(record.session)) {
    record.session.clear();
    record.body = std::monostate();
    notes.problem(kIdentityMismatch, "a session id that cannot be one");
  }
  record.problems |= notes.problems;
  record.problem_detail = notes.detail;
  if (notes.broken) record.problems |= kMalformed;
  if (repaired) record.problems |= kRepaired;
  return record;
}

}  // namespace respool::decode_detail
