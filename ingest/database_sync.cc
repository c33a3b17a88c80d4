#include "ingest/database_sync.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "engine/facts/session_facts.h"
#include "engine/model/model_rows.h"
#include "engine/storage/keys.h"
#include "engine/storage/scratch_directory.h"

#include "ingest/opencode/runtime.h"
#include "ingest/output_files.h"
#include "ingest/source/note.h"

namespace respool {
namespace {

constexpr std::uint32_t kDatabaseBit = 1U << static_cast<unsigned>(Shape::DatabaseRow);

Result<fb::DatabaseCursorT> cursor_of(const ReadView& view, const std::string& key) {
  RESPOOL_TRY(const auto row, view.get(Family::Index, key));
  if (!row) return fb::DatabaseCursorT();
  return decode<fb::DatabaseCursorT>(*row, "a cursor of a database");
}

template <class Row>
bool in_database(const Row& row) {
  return (row.sources & kDatabaseBit) != 0 && !is_removed(row);
}

class Sync {
 public:
  Sync(Store& store,
       Recorder& recorder,
       std::filesystem::path database,
       const DatabaseSyncOptions& options)
      : store_(&store),
        recorder_(&recorder),
        database_(std::move(database)),
        options_(&options),
        ingester_(recorder,
                  IngestOptions{.host = options.host,
                                .run = {},
                                .prompt = {},
                                .now_ms = options.now_ms,
                                .progress = {},
                                .stop = options.stop}) {}

  Result<DatabaseSyncReport> run() {
    const std::string key = keys::database_cursor(database_.string());
    RESPOOL_TRY(const auto cursor, cursor_of(store_->view(), key));
    RESPOOL_TRY(const auto signature, database_signature(database_));
    if (!options_->again && signature == cursor.signature) {
      report_.unchanged = true;
      return report_;
    }
    const ScratchDirectory scratch;
    RESPOOL_TRY(const auto source, DatabaseSource::open(database_, scratch.path()));
    RESPOOL_TRY(ingester_.start(database_.string()));
    RESPOOL_TRY(find_unwanted(*source));
    const DatabaseMark since{.signature = cursor.signature, .tables = cursor.tables};
    RESPOOL_TRY(source->each_row(options_->again ? DatabaseMark{} : since,
                                 [this](const DatabaseRow& row) { return take(row); }));
    for (const auto& problem : source->problems())
      report_.problems.push_back(fmt::format("table {}: {}", problem.table, problem.what));
    name_foreign_schema(*source);
    RESPOOL_TRY(take_output_files(ingester_, ingester_.take_output_paths()));
    RESPOOL_TRY(recorder_->commit());
    RESPOOL_TRY(const auto sessions, source->session_ids());
    RESPOOL_TRY(note_vanished_rows(*source, sessions));
    if (options_->sessions.empty()) {
      RESPOOL_TRY(note_gone_sessions(cursor.sessions, sessions));
      recorder_->set_cursor(key, encode_cursor(source->mark(), sessions));
    }
    report_.counts = ingester_.counts();
    report_.counts.bytes = read_bytes_;
    return report_;
  }

 private:
  // A session's directory stands in its own row alone, which may come after its messages.
  Result<void> find_unwanted(DatabaseSource& source) {
    if (!options_->captures) return ok();
    return source.each_row(DatabaseMark{}, [this](const DatabaseRow& row) -> Result<void> {
      if (row.table != "session") return ok();
      const Record record = decode_record(row.raw, Shape::DatabaseRow);
      const auto* session = std::get_if<fb::SessionRowT>(&record.body);
      if (session != nullptr && !options_->captures(session->directory))
        unwanted_.insert(record.session);
      return ok();
    });
  }

  bool wanted(std::string_view session) const {
    if (unwanted_.contains(std::string(session))) return false;
    const auto& only = options_->sessions;
    return only.empty() || std::ranges::find(only, session) != only.end();
  }

  Result<void> take(const DatabaseRow& row) {
    if (options_->stop != nullptr && options_->stop->load())
      return Error(ErrorCode::Interrupted, "the database was read in part", "run it again");
    if (!wanted(row.session)) return ok();
    Frame frame;
    frame.raw = row.raw;
    frame.session = row.session;
    if (row.table != "event") {
      frame.shape = Shape::DatabaseRow;
      if (row.time_updated_ms != 0) frame.as_of_ms = row.time_updated_ms;
    }
    RESPOOL_TRY(ingester_.take(frame));
    if (!row.session.empty()) touched_.emplace(row.session);
    read_bytes_ += row.raw.size();
    if (options_->progress) options_->progress(read_bytes_);
    return row.table == "session" ? note_binding(row) : ok();
  }

  // The same words each time for the same row, so that a second reading says nothing new.
  Result<void> note_binding(const DatabaseRow& row) {
    const Record record = decode_record(row.raw, Shape::DatabaseRow);
    const auto* session = std::get_if<fb::SessionRowT>(&record.body);
    if (session == nullptr || record.session.empty()) return ok();
    Note note("respool.binding", row.time_updated_ms);
    note.text("sessionID", record.session)
        .text("host", options_->host)
        .text("directory", canonical_directory(session->directory))
        .text("project", session->project)
        .text("database", database_.string())
        .text("opencode_version", session->opencode_version);
    return take_note(note.str());
  }

  Result<void> take_note(const std::string& raw) {
    Frame frame;
    frame.raw = raw;
    frame.shape = Shape::Note;
    return ingester_.take(frame);
  }

  Result<SessionFacts> facts_of(const std::string& session) {
    const StreamName name{StreamKind::Session, session};
    const ReadView view = store_->view();
    RESPOOL_TRY(const auto number, find_stream(view, name));
    if (!number) return SessionFacts();
    RESPOOL_TRY(auto model, load_session(view, Family::Model, *number, name));
    return std::move(model.facts);
  }

  // Rows of a session that changed and that once were in the database but are no more: a revert
  // that became final, or a part that was taken back.
  Result<void> note_vanished_rows(DatabaseSource& source,
                                  const std::vector<std::string>& sessions) {
    for (const auto& session : touched_) {
      if (!std::ranges::binary_search(sessions, session)) continue;
      RESPOOL_TRY(const auto rows, source.session_rows(session));
      RESPOOL_TRY(const auto facts, facts_of(session));
      for (const auto& [id, message] : facts.messages) {
        const bool message_is_there = std::ranges::binary_search(rows.messages, id);
        if (message.row && in_database(*message.row) && !message_is_there) {
          RESPOOL_TRY(take_note(Note("respool.message.gone", options_->now_ms())
                                    .text("sessionID", session)
                                    .text("messageID", id)
                                    .str()));
        }
        for (const auto& [part_id, part] : message.parts) {
          if (!in_database(part) || std::ranges::binary_search(rows.parts, part_id)) continue;
          RESPOOL_TRY(take_note(Note("respool.part.gone", options_->now_ms())
                                    .text("sessionID", session)
                                    .text("messageID", id)
                                    .text("partID", part_id)
                                    .str()));
        }
      }
    }
    return ok();
  }

  Result<void> note_gone_sessions(const std::vector<std::string>& before,
                                  const std::vector<std::string>& now) {
    for (const auto& session : before) {
      if (std::ranges::binary_search(now, session)) continue;
      report_.gone.push_back(session);
      RESPOOL_TRY(const auto facts, facts_of(session));
      RESPOOL_TRY(take_note(Note("respool.gone", options_->now_ms())
                                .text("sessionID", session)
                                .text("host", options_->host)
                                .text("directory", canonical_directory(facts.session.directory))
                                .text("database", database_.string())
                                .text("reason", "gone")
                                .str()));
    }
    return ok();
  }

  void name_foreign_schema(const DatabaseSource& source) {
    switch (source.schema()) {
      case DatabaseSchema::OpenCode1:
        return;
      case DatabaseSchema::Older:
        report_.foreign_schema = "a database of OpenCode before 1.0";
        break;
      case DatabaseSchema::Newer:
        report_.foreign_schema = "a database of OpenCode 2";
        break;
      case DatabaseSchema::Unknown:
        report_.foreign_schema = "a database of no known version of OpenCode";
        break;
    }
    report_.foreign_schema += ", tables " + source.schema_detail();
  }

  std::string encode_cursor(const DatabaseMark& mark,
                            const std::vector<std::string>& sessions) const {
    fb::DatabaseCursorT cursor;
    cursor.signature = mark.signature;
    cursor.tables = mark.tables;
    cursor.sessions = sessions;
    cursor.read_ms = options_->now_ms();
    return encode(cursor);
  }

  Store* store_;
  Recorder* recorder_;
  std::filesystem::path database_;
  const DatabaseSyncOptions* options_;
  Ingester ingester_;
  DatabaseSyncReport report_;
  std::set<std::string> touched_;
  std::set<std::string> unwanted_;
  std::uint64_t read_bytes_ = 0;
};

}  // namespace

Result<DatabaseSyncReport> sync_database(Store& store,
                                         Recorder& recorder,
                                         const std::filesystem::path& database,
                                         const DatabaseSyncOptions& options) {
  std::error_code error;
  auto canonical = std::filesystem::canonical(database, error);
  if (error) canonical = database;
  return Sync(store, recorder, canonical, options).run();
}

}  // namespace respool
