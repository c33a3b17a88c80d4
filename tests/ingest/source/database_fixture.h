#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "ingest/source/database_source.h"

#include "tests/support/temp_store.h"

namespace respool::test {

// A database to write to with SQLite itself.
class WrittenDatabase {
 public:
  explicit WrittenDatabase(const fs::path& path);
  ~WrittenDatabase();
  WrittenDatabase(const WrittenDatabase&) = delete;
  WrittenDatabase& operator=(const WrittenDatabase&) = delete;

  void run(const std::string& sql);
  // The first column of the first row.
  std::int64_t number(const std::string& sql);
  std::vector<std::string> texts(const std::string& sql);

 private:
  struct Handle;
  std::unique_ptr<Handle> handle_;
};

// The tables of OpenCode 1.18 that tests fill, and two sessions with a message and a part each.
std::string schema_and_rows();

// A process of its own that writes a database, step by step, while the test reads it.
class WriterProcess {
 public:
  using Step = std::function<void(WrittenDatabase&)>;

  // Starts it; it opens the database and does the first step.
  WriterProcess(const fs::path& database, std::vector<Step> steps);
  ~WriterProcess();
  WriterProcess(const WriterProcess&) = delete;
  WriterProcess& operator=(const WriterProcess&) = delete;

  void next_step();
  // Closes the database as OpenCode does when it ends.
  void leave();
  void kill();

 private:
  void wait_for_answer();

  int to_child_ = -1;
  int from_child_ = -1;
  int child_ = -1;
};

// Everything about a folder that reading it must not change: names, bytes, times, inodes.
std::map<std::string, std::string> folder_state(const fs::path& folder);
// Makes all files old, so that their signatures are settled at once.
void age_files(const fs::path& folder);

// A database of the test data with what stands beside it, in a folder of its own.
fs::path unpack_killed(const fs::path& folder);

struct ReadRow {
  std::string table;
  std::string raw;
  std::string session;
  std::int64_t time_updated_ms = 0;

  bool operator==(const ReadRow&) const = default;
};

struct Reading {
  std::vector<ReadRow> rows;
  std::vector<DatabaseProblem> problems;
  DatabaseMark mark;
  DatabaseAccess access = DatabaseAccess::InPlace;

  std::vector<std::string> raws(const std::string& table) const;
  std::map<std::string, std::int64_t> counts() const;
};

// Opens, reads and closes; fails the test where anything stays in the scratch folder.
Reading read_database(const fs::path& database, const DatabaseMark& since = {});

}  // namespace respool::test
