#include "tests/ingest/source/database_fixture.h"

#include <csignal>
#include <stdexcept>

#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "bench/corpus/corpus.h"

namespace respool::test {

struct WrittenDatabase::Handle {
  sqlite3* open = nullptr;
};

WrittenDatabase::WrittenDatabase(const fs::path& path) : handle_(std::make_unique<Handle>()) {
  if (sqlite3_open(path.c_str(), &handle_->open) != SQLITE_OK)
    throw std::runtime_error("cannot open " + path.string());
}

WrittenDatabase::~WrittenDatabase() {
  sqlite3_close(handle_->open);
}

void WrittenDatabase::run(const std::string& sql) {
  if (sqlite3_exec(handle_->open, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
    throw std::runtime_error(sql + ": " + sqlite3_errmsg(handle_->open));
}

std::int64_t WrittenDatabase::number(const std::string& sql) {
  return std::stoll(texts(sql).at(0));
}

std::vector<std::string> WrittenDatabase::texts(const std::string& sql) {
  sqlite3_stmt* row = nullptr;
  if (sqlite3_prepare_v2(handle_->open, sql.c_str(), -1, &row, nullptr) != SQLITE_OK)
    throw std::runtime_error(sql + ": " + sqlite3_errmsg(handle_->open));
  std::vector<std::string> found;
  while (sqlite3_step(row) == SQLITE_ROW)
    found.emplace_back(reinterpret_cast<const char*>(sqlite3_column_text(row, 0)));
  sqlite3_finalize(row);
  return found;
}

std::string schema_and_rows() {
  return R"(
    CREATE TABLE session (id TEXT PRIMARY KEY, title TEXT, cost REAL, model TEXT,
                          time_created INTEGER, time_updated INTEGER);
    CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER,
                          time_updated INTEGER, data TEXT);
    CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT,
                       time_created INTEGER, time_updated INTEGER, data TEXT);
    CREATE TABLE event (id TEXT PRIMARY KEY, aggregate_id TEXT, seq INTEGER, type TEXT, data TEXT);
    INSERT INTO session VALUES ('ses_a', 'First', 0.25, '{"id":"m"}', 1000, 2000),
                               ('ses_b', '[1]', 0, NULL, 1000, 2000);
    INSERT INTO message VALUES ('msg_a', 'ses_a', 1000, 2000, '{"role":"user"}'),
                               ('msg_b', 'ses_b', 1000, 2000, '{"role":"user"}');
    INSERT INTO part VALUES ('prt_a', 'msg_a', 'ses_a', 1000, 2000, '{"type":"text","text":"one"}'),
                            ('prt_b', 'msg_b', 'ses_b', 1000, 2000, '{"type":"text","text":"two"}');
    INSERT INTO event VALUES ('evt_1', 'ses_a', 0, 'session.created.1', '{"sessionID":"ses_a"}'),
                             ('evt_2', 'ses_b', 0, 'session.created.1', '{"sessionID":"ses_b"}');
  )";
}

WriterProcess::WriterProcess(const fs::path& database, std::vector<Step> steps) {
  int down[2];
  int up[2];
  if (::pipe(down) != 0 || ::pipe(up) != 0) throw std::runtime_error("pipe");
  child_ = ::fork();
  if (child_ < 0) throw std::runtime_error("fork");
  if (child_ == 0) {
    ::close(down[1]);
    ::close(up[0]);
    int exit_code = 0;
    try {
      WrittenDatabase written(database);
      char byte = 0;
      for (const auto& step : steps) {
        step(written);
        if (::write(up[1], "k", 1) != 1 || ::read(down[0], &byte, 1) != 1) ::_exit(1);
      }
    } catch (const std::exception&) {
      exit_code = 1;
    }
    if (exit_code == 0 && ::write(up[1], "k", 1) != 1) exit_code = 1;
    ::_exit(exit_code);
  }
  ::close(down[0]);
  ::close(up[1]);
  to_child_ = down[1];
  from_child_ = up[0];
  wait_for_answer();
}

WriterProcess::~WriterProcess() {
  kill();
  ::close(to_child_);
  ::close(from_child_);
}

void WriterProcess::wait_for_answer() {
  char byte = 0;
  if (::read(from_child_, &byte, 1) != 1) throw std::runtime_error("the writer failed");
}

void WriterProcess::next_step() {
  if (::write(to_child_, "k", 1) != 1) throw std::runtime_error("write");
  wait_for_answer();
}

void WriterProcess::leave() {
  next_step();
  int status = 0;
  ::waitpid(child_, &status, 0);
  child_ = -1;
}

void WriterProcess::kill() {
  if (child_ < 0) return;
  int status = 0;
  ::kill(child_, SIGKILL);
  ::waitpid(child_, &status, 0);
  child_ = -1;
}

std::map<std::string, std::string> folder_state(const fs::path& folder) {
  std::map<std::string, std::string> state;
  for (const auto& entry : fs::directory_iterator(folder)) {
    struct stat found {};
    if (::stat(entry.path().c_str(), &found) != 0) throw std::runtime_error("stat");
    state[entry.path().filename().string()] = fmt::format("inode {} mode {:o} written {}.{} {}.{} ",
                                                          found.st_ino,
                                                          found.st_mode,
                                                          found.st_mtim.tv_sec,
                                                          found.st_mtim.tv_nsec,
                                                          found.st_ctim.tv_sec,
                                                          found.st_ctim.tv_nsec) +
                                              read_file(entry.path());
  }
  return state;
}

void age_files(const fs::path& folder) {
  static int age = 0;
  const auto past = fs::file_time_type::clock::now() - std::chrono::hours(48);
  for (const auto& entry : fs::directory_iterator(folder))
    fs::last_write_time(entry.path(), past + std::chrono::seconds(++age));
}

fs::path unpack_killed(const fs::path& folder) {
  const fs::path from = data_path("captures/1.18.33/store/killed");
  for (const auto* name : {"opencode.db", "opencode.db-wal", "opencode.db-shm"})
    write_file(folder / name, bench::unpack((from / name).string() + ".zst"));
  age_files(folder);
  return folder / "opencode.db";
}

std::vector<std::string> Reading::raws(const std::string& table) const {
  std::vector<std::string> found;
  for (const auto& row : rows) {
    if (row.table == table) found.push_back(row.raw);
  }
  return found;
}

std::map<std::string, std::int64_t> Reading::counts() const {
  std::map<std::string, std::int64_t> found;
  for (const auto& row : rows)
    ++found[row.table];
  return found;
}

Reading read_database(const fs::path& database, const DatabaseMark& since) {
  const TempDir scratch;
  Reading reading;
  {
    const auto source = value(DatabaseSource::open(database, scratch.path()));
    check(source->each_row(since, [&](const DatabaseRow& row) -> Result<void> {
      reading.rows.push_back({std::string(row.table),
                              std::string(row.raw),
                              std::string(row.session),
                              row.time_updated_ms});
      return ok();
    }));
    reading.problems = source->problems();
    reading.mark = source->mark();
    reading.access = source->access();
  }
  if (!fs::is_empty(scratch.path())) throw std::runtime_error("something stayed in scratch");
  return reading;
}

}  // namespace respool::test
