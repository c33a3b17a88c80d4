#include "tests/support/oracle.h"

#include <cmath>
#include <stdexcept>

#include <fmt/format.h>
#include <simdjson.h>
#include <sqlite3.h>

#include "schema/digest.h"
#include "schema/opencode/record.h"

#include "tests/support/files.h"

namespace respool::test {
namespace {

namespace dom = simdjson::dom;

std::string text(const dom::element& object, std::string_view key) {
  std::string_view found;
  if (object[key].get(found)) return {};
  return std::string(found);
}

std::int64_t number(const dom::element& object, std::string_view pointer) {
  double found = 0;
  return object.at_pointer(pointer).get(found) ? 0 : static_cast<std::int64_t>(found);
}

std::int64_t nanos(const dom::element& object, std::string_view key) {
  double dollars = 0;
  return object[key].get(dollars) ? 0 : std::llround(dollars * 1e9);
}

void add_step(UsageSumOracle& sum, const dom::element& part) {
  ++sum.steps;
  sum.input += number(part, "/tokens/input");
  sum.output += number(part, "/tokens/output");
  sum.reasoning += number(part, "/tokens/reasoning");
  sum.cache_read += number(part, "/tokens/cache/read");
  sum.cache_write += number(part, "/tokens/cache/write");
  sum.cost_nanos += nanos(part, "cost");
}

void read_message(const dom::element& message, ExportOracle& result) {
  const dom::element info = message["info"].value();
  StepOracle step;
  step.session = result.session;
  step.session_created = result.created;
  step.message = text(info, "id");
  step.provider = text(info, "providerID");
  step.model = text(info, "modelID");
  step.agent = text(info, "agent").empty() ? text(info, "mode") : text(info, "agent");
  step.created = number(info, "/time/created");
  step.completed = number(info, "/time/completed");
  result.messages.push_back(step.message);
  const dom::array parts = message["parts"].get_array().value();
  for (const dom::element part : parts) {
    result.parts.push_back(text(part, "id"));
    if (text(part, "type") != "step-finish") continue;
    add_step(result.sum, part);
    add_step(step.usage, part);
  }
  if (step.usage.steps > 0) result.steps.push_back(step);
}

template <class Row>
std::string clean(Row row) {
  row.key = fb::JoinKey();
  row.ref = fb::EventRef();
  row.removed_at = 0;
  row.sources = 0;
  row.conflict = false;
  row.origins.clear();
  return to_hex(encode(row));
}

// {"id":..., "sessionID":..., <data>}: the columns put back where OpenCode took them from.
std::string with_ids(const std::string& ids, const std::string& data) {
  return fmt::format("{{{},{}", ids, data.substr(1));
}

std::string column(sqlite3_stmt* statement, int index) {
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement, index));
  const int size = sqlite3_column_bytes(statement, index);
  if (bytes == nullptr || size <= 0) return {};
  return {bytes, static_cast<std::size_t>(size)};
}

template <class Visit>
void query(sqlite3* db, const char* sql, Visit&& visit) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(db, sql, -1, &statement, nullptr) != SQLITE_OK)
    throw std::runtime_error(sqlite3_errmsg(db));
  while (sqlite3_step(statement) == SQLITE_ROW)
    visit(statement);
  sqlite3_finalize(statement);
}

}  // namespace

ExportOracle read_export(const std::string& bytes) {
  dom::parser parser;
  const dom::element root = parser.parse(bytes).value();
  const dom::element info = root["info"].value();
  ExportOracle result;
  result.session = text(info, "id");
  result.parent = text(info, "parentID");
  result.created = number(info, "/time/created");
  dom::element field;
  if (!info["cost"].get(field)) result.info_cost_nanos = nanos(info, "cost");
  if (!info["tokens"].get(field))
    result.info_tokens = number(info, "/tokens/input") + number(info, "/tokens/output") +
                         number(info, "/tokens/reasoning") + number(info, "/tokens/cache/read") +
                         number(info, "/tokens/cache/write");
  const dom::array messages = root["messages"].get_array().value();
  for (const dom::element message : messages)
    read_message(message, result);
  return result;
}

DatabaseOracle read_database(const std::string& bytes) {
  const TempDir dir;
  const auto path = dir.path() / "opencode.db";
  write_file(path, bytes);
  sqlite3* db = nullptr;
  if (sqlite3_open_v2(path.c_str(), &db, SQLITE_OPEN_READONLY, nullptr) != SQLITE_OK)
    throw std::runtime_error("sqlite");
  DatabaseOracle result;
  query(db, "select id, session_id, data from message", [&](sqlite3_stmt* row) {
    const std::string id = column(row, 0);
    const std::string session = column(row, 1);
    const auto raw =
        with_ids(fmt::format(R"("id":"{}","sessionID":"{}")", id, session), column(row, 2));
    auto record = decode_record(raw, Shape::ExportMessage);
    result.messages.push_back({id, session, std::get<fb::MessageRowT>(record.body)});
  });
  query(db, "select id, message_id, session_id, data from part", [&](sqlite3_stmt* row) {
    const std::string id = column(row, 0);
    const std::string message = column(row, 1);
    const std::string session = column(row, 2);
    const auto raw = with_ids(
        fmt::format(R"("id":"{}","messageID":"{}","sessionID":"{}")", id, message, session),
        column(row, 3));
    auto record = decode_record(raw, Shape::ExportPart);
    result.parts.push_back({id, message, session, std::get<fb::PartRowT>(record.body)});
  });
  sqlite3_close(db);
  return result;
}

std::string content_of(fb::SessionRowT row) {
  // OpenCode's running totals lag on the stream, and registers are what only streams show.
  fb::SessionRowT content;
  content.id = row.id;
  content.title = row.title;
  content.directory = row.directory;
  content.project = row.project;
  content.parent = row.parent;
  content.opencode_version = row.opencode_version;
  content.agent = row.agent;
  content.model = row.model;
  content.path = row.path;
  content.provider = row.provider;
  content.archived_ms = row.archived_ms;
  content.created_ms = row.created_ms;
  content.revert_message = row.revert_message;
  return clean(std::move(content));
}

std::string content_of(fb::MessageRowT row) {
  return clean(std::move(row));
}

std::string content_of(fb::PartRowT row) {
  row.line_ms = flatbuffers::nullopt;
  return clean(std::move(row));
}

}  // namespace respool::test
