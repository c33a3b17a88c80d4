#include "tests/support/temp_store.h"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

#include "schema/digest.h"

#include "engine/integrity/verify.h"
#include "engine/model/model_rows.h"
#include "engine/storage/keys.h"

namespace respool::test {
namespace {

StoreOptions options_for(const fs::path& path) {
  return {.directory = path / "store", .host = "test-host", .purpose = "test", .now_ms = kNow};
}

template <class Row>
std::string without_pointers(Row row) {
  row.ref = fb::EventRef();
  return to_hex(encode(row));
}

std::string dump_row(fb::SessionRowT row) {
  row.todo_ref = fb::EventRef();
  return without_pointers(std::move(row));
}

std::string dump_row(fb::ProblemRowT row) {
  row.place = 0;
  row.recording = 0;
  return without_pointers(std::move(row));
}

template <class Row>
std::string dump_row(Row row) {
  return without_pointers(std::move(row));
}

}  // namespace

void fail_with(const Error& error) {
  throw std::runtime_error(std::string(error_code_name(error.code())) + ": " + error.message());
}

IngestOptions test_options() {
  IngestOptions options;
  options.now_ms = [] { return kNow; };
  return options;
}

TempStore::TempStore() {
  reopen();
}

IngestCounts TempStore::ingest_with(std::string_view bytes, IngestOptions options) {
  const auto recorder = value(Recorder::open(*store_));
  Ingester ingester(*recorder, std::move(options));
  check(ingester.read_bytes(bytes, "bytes"));
  check(recorder->finish());
  return ingester.counts();
}

IngestCounts TempStore::ingest(std::string_view bytes,
                               const std::string& name,
                               std::size_t piece_bytes) {
  const auto recorder = value(Recorder::open(*store_));
  Ingester ingester(*recorder, test_options());
  check(ingester.read_bytes(bytes, name, piece_bytes));
  check(recorder->finish());
  return ingester.counts();
}

IngestCounts TempStore::ingest_file(const fs::path& path) {
  return ingest(read_file(path), path.filename().string());
}

SessionNumber TempStore::number(const std::string& session) const {
  const auto found = value(reader().number_of(session));
  if (!found) throw std::runtime_error("no session " + session);
  return *found;
}

SessionFacts TempStore::facts(const std::string& session) const {
  return value(reader().facts(number(session)));
}

std::vector<std::string> TempStore::session_ids() const {
  std::vector<std::string> ids;
  for (const auto& entry : value(reader().sessions()))
    ids.push_back(entry.row.id);
  std::sort(ids.begin(), ids.end());
  return ids;
}

std::vector<std::string> TempStore::raw_events() const {
  std::vector<std::string> events;
  const StoreReader all = reader();
  const auto last = value(last_position(all.view()));
  for (std::uint64_t at = 1; at <= last.value; ++at)
    events.push_back(value(read_event_at(all.view(), {at})).raw);
  return events;
}

void TempStore::close() {
  check(store_->close());
  store_.reset();
}

void TempStore::reopen() {
  store_ = value(Store::open(options_for(dir_.path()), Access::Write));
}

std::string damage_of(const Store& store) {
  std::string text;
  for (const auto& damage : value(verify_store(store, std::nullopt)).damages)
    text += damage.stream + ": " + damage.what + "\n";
  return text;
}

std::string dump_facts(const SessionFacts& facts) {
  std::string dump = fmt::format("session {} {}\n", facts.name.text, dump_row(facts.session));
  for (const auto& [id, message] : facts.messages) {
    if (message.row) dump += fmt::format("message {} {}\n", id, dump_row(*message.row));
    for (const auto& [part_id, part] : message.parts)
      dump += fmt::format("part {} {} {}\n", id, part_id, dump_row(part));
  }
  const auto rows = [&](std::string_view kind, const auto& map) {
    for (const auto& [id, row] : map)
      dump += fmt::format("{} {} {}\n", kind, id, dump_row(row));
  };
  rows("ask", facts.asks);
  rows("command", facts.commands);
  rows("error", facts.errors);
  rows("prompt", facts.prompts);
  rows("problem", facts.problems);
  for (const auto& [id, run] : facts.runs)
    dump += fmt::format("run {} {}\n", id, to_hex(encode(run)));
  return dump + fmt::format("sequence {}\n", to_hex(encode(facts.sequence)));
}

std::string dump_model(const StoreReader& reader) {
  std::map<std::uint64_t, std::string> names;
  std::map<std::string, std::string> sessions;
  for (const auto& entry : value(reader.sessions()))
    names[entry.number.value] = entry.row.id;
  for (const auto& entry : value(reader.sessions())) {
    std::string text = dump_facts(value(reader.facts(entry.number)));
    text += fmt::format("totals {}\n", to_hex(encode(entry.totals)));
    for (auto step : value(reader.steps(entry.number))) {
      const std::string owner = names[step.owner];
      step.owner = 0;
      text += fmt::format("step {} owner {} {}\n", step.message, owner, to_hex(encode(step)));
    }
    sessions[entry.row.id] = text;
  }
  std::vector<std::string> rollups;
  RowCursor rows =
      reader.view().scan_prefix(Family::Model, keys::table_prefix(keys::Table::Rollups));
  for (; rows.valid(); rows.next()) {
    const auto key = *keys::parse_rollup(rows.key());
    rollups.push_back(fmt::format("rollup {} {} {} {}\n",
                                  key.bucket,
                                  names[key.session.value],
                                  to_hex(key.dimensions),
                                  to_hex(rows.value())));
  }
  std::sort(rollups.begin(), rollups.end());
  std::string dump;
  for (const auto& [id, text] : sessions)
    dump += text;
  for (const auto& rollup : rollups)
    dump += rollup;
  return dump;
}

}  // namespace respool::test
