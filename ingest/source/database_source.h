#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "schema/error.h"

#include "ingest/source/database_snapshot.h"

namespace respool {

class DatabaseConnection;
struct IdFilter;

// One row of an OpenCode database as an observation's bytes. Borrowed until the visitor returns.
struct DatabaseRow {
  std::string_view table;
  // Table `event`: {"id":..,"aggregate_id":..,"seq":..,"type":..,"data":..}, the bytes POST
  // /sync/history gives. Any other: {"table":..} and its columns in order; texts that are JSON
  // objects or arrays stand as they are, bytes that are no text as {"base64":..}.
  std::string_view raw;
  std::string_view session;          // the id of the session it belongs to, "" if of none
  std::int64_t time_updated_ms = 0;  // 0 if the table has none
};

// Where a reading ended; the caller keeps it and hands it to the next one.
struct DatabaseMark {
  std::string signature;  // of the files before the reading: equal means nothing changed since
  std::string tables;     // what was seen of each table, for each_row() alone to understand
};

enum class DatabaseSchema : std::uint8_t {
  OpenCode1,  // 1.2 and later
  Older,      // OpenCode's first life, the one written in Go
  Newer,      // 2.x
  Unknown,
};

// What could not be read.
struct DatabaseProblem {
  std::string table;
  std::string what;  // in words, with the place; never content
};

// The rows of one session that are in the database now.
struct SessionRows {
  std::vector<std::string> messages;  // ids, sorted
  std::vector<std::string> parts;
};

// Reads an OpenCode database of any version, at one moment, and leaves its folder as it is: no file
// of OpenCode's is written and none is made beside them, whether OpenCode runs, has ended or was
// killed. Tables with credentials are never read.
//
// Threads:   one at a time.
// Ownership: while it lives, a writer beside it cannot shorten its WAL: do not keep it.
// Errors:    Corruption where nothing can be read (what is damaged in part is read in part, and
//            listed in problems()); StoreBusy where a writer does not let go for seconds; NotFound;
//            Io. After an error from each_row() the mark is what it was.
class DatabaseSource {
 public:
  // `scratch` is a folder for a copy, needed only after a crash; nothing stays in it.
  static Result<std::unique_ptr<DatabaseSource>> open(const std::filesystem::path& database,
                                                      const std::filesystem::path& scratch);
  ~DatabaseSource();
  DatabaseSource(const DatabaseSource&) = delete;
  DatabaseSource& operator=(const DatabaseSource&) = delete;

  const std::string& signature() const { return signature_; }
  DatabaseAccess access() const { return access_; }
  DatabaseSchema schema() const;
  // The tables found, as quoted names. None of the refused ones.
  std::string schema_detail() const;

  // Visits the rows that are new or changed since a mark; DatabaseMark{} visits all. More may come
  // than changed, and a row more than once: equal bytes say nothing new. Rows of table `event`
  // below the mark are taken as unchanged, as OpenCode only appends to it; so is a row whose
  // columns but `data` and the size of `data` are the same. Rows that vanished are not told.
  using Visitor = std::function<Result<void>(const DatabaseRow&)>;
  Result<void> each_row(const DatabaseMark& since, const Visitor& visit);

  // Where the last each_row() ended.
  const DatabaseMark& mark() const { return mark_; }
  // What the last each_row() could not read, by table.
  const std::vector<DatabaseProblem>& problems() const { return problems_; }

  // The ids of all sessions now in it, sorted.
  Result<std::vector<std::string>> session_ids();
  // The ids of those whose title holds `part`.
  Result<std::vector<std::string>> sessions_titled(std::string_view part);
  // The ids of a session's messages and parts, to find those that vanished.
  Result<SessionRows> session_rows(std::string_view session);

 private:
  DatabaseSource(std::filesystem::path database, std::filesystem::path scratch);
  Result<void> connect();
  // Column `id` of a table; empty where there is no such column.
  Result<std::vector<std::string>> ids(std::string_view table, const IdFilter& filter);

  std::filesystem::path database_;
  std::filesystem::path scratch_;
  std::string signature_;
  DatabaseAccess access_ = DatabaseAccess::InPlace;
  std::unique_ptr<DatabaseConnection> connection_;
  DatabaseMark mark_;
  std::vector<DatabaseProblem> problems_;
};

}  // namespace respool
