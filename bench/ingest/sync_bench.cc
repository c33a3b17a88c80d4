#include <filesystem>
#include <string>

#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <sqlite3.h>

#include "engine/model/recorder.h"
#include "engine/storage/scratch_directory.h"

#include "ingest/database_sync.h"

// What `sync` costs when nothing changed since the last time, and when one message did. Items are
// messages in the database; CPU time is that of the whole process.
namespace respool::bench {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kNow = 1'796'100'000'000;

void run_sql(sqlite3* db, const std::string& sql) {
  if (sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) std::abort();
}

// Sessions of a hundred messages each, in the tables of OpenCode 1.18.
void make_database(const fs::path& path, std::int64_t messages) {
  sqlite3* db = nullptr;
  if (sqlite3_open(path.c_str(), &db) != SQLITE_OK) std::abort();
  run_sql(db,
          "create table session(id text primary key, project_id text, directory text, title text,"
          " version text, time_created integer, time_updated integer);"
          "create table message(id text primary key, session_id text, time_created integer,"
          " time_updated integer, data text);"
          "create table part(id text primary key, message_id text, session_id text,"
          " time_created integer, time_updated integer, data text);"
          "create table event(id text primary key, aggregate_id text, seq integer, type text,"
          " data text);"
          "create index message_session on message(session_id);"
          "create index part_session on part(session_id);"
          "begin");
  run_sql(db,
          fmt::format(
              "with recursive n(i) as (select 0 union all select i + 1 from n where i < {0} / 100)"
              " insert into session select printf('ses_%08d', i), 'p', '/work', 't', '1.18.33',"
              " {1} + i, {1} + i from n",
              messages,
              kNow));
  run_sql(db,
          fmt::format(
              "with recursive n(i) as (select 1 union all select i + 1 from n where i < {0})"
              " insert into message select printf('msg_%012d', i), printf('ses_%08d', i / 100), "
              "{1} + i, {1} + i,"
              " '{{\"role\":\"assistant\",\"modelID\":\"m\",\"providerID\":\"p\",\"cost\":0.001,"
              "\"tokens\":{{\"input\":10,\"output\":5,\"reasoning\":0,\"cache\":{{\"read\":0,"
              "\"write\":0}}}},"
              "\"time\":{{\"created\":' || ({1} + i) || ',\"completed\":' || ({1} + i) || '}}}}' "
              "from n",
              messages,
              kNow));
  run_sql(db, "commit");
  sqlite3_close(db);
}

void touch_one(const fs::path& path) {
  sqlite3* db = nullptr;
  if (sqlite3_open(path.c_str(), &db) != SQLITE_OK) std::abort();
  run_sql(db, "update message set time_updated = time_updated + 1 where rowid = 7");
  sqlite3_close(db);
}

class Subject {
 public:
  explicit Subject(std::int64_t messages) : database_(dir_.path() / "opencode.db") {
    make_database(database_, messages);
    auto store = Store::open(
        {.directory = dir_.path() / "store", .host = "bench", .purpose = "bench", .now_ms = kNow},
        Access::Write);
    if (!store) std::abort();
    store_ = std::move(store.value());
  }
  bool sync() {
    const auto recorder = Recorder::open(*store_);
    if (!recorder) return false;
    const DatabaseSyncOptions options{.host = "bench", .now_ms = [] { return kNow; }};
    return sync_database(*store_, *recorder.value(), database_, options) &&
           recorder.value()->finish();
  }
  const fs::path& database() const { return database_; }

 private:
  ScratchDirectory dir_;
  fs::path database_;
  std::unique_ptr<Store> store_;
};

void BM_SyncUnchanged(benchmark::State& state) {
  Subject subject(state.range(0));
  if (!subject.sync()) return state.SkipWithError("the first sync failed");
  for (auto _ : state) {
    if (!subject.sync()) return state.SkipWithError("sync failed");
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_SyncUnchanged)->Name("sync/unchanged/small")->Arg(300)->MeasureProcessCPUTime();
BENCHMARK(BM_SyncUnchanged)->Name("sync/unchanged/mixed")->Arg(200'000)->MeasureProcessCPUTime();

void BM_SyncOneChanged(benchmark::State& state) {
  Subject subject(state.range(0));
  if (!subject.sync()) return state.SkipWithError("the first sync failed");
  for (auto _ : state) {
    state.PauseTiming();
    touch_one(subject.database());
    state.ResumeTiming();
    if (!subject.sync()) return state.SkipWithError("sync failed");
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_SyncOneChanged)->Name("sync/one_changed/small")->Arg(300)->MeasureProcessCPUTime();
BENCHMARK(BM_SyncOneChanged)->Name("sync/one_changed/mixed")->Arg(200'000)->MeasureProcessCPUTime();

}  // namespace
}  // namespace respool::bench
