#include <filesystem>

#include <benchmark/benchmark.h>
#include <sqlite3.h>

#include "engine/facts/fold.h"
#include "engine/model/recorder.h"
#include "engine/storage/scratch_directory.h"

#include "ingest/ingester.h"

#include "bench/corpus/corpus.h"

// What it costs to keep the corpus: verbatim, deduplicated, chained, folded, durable at the end.
// Items are events; CPU time is that of the whole process, RocksDB's own threads included.
namespace respool::bench {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kNow = 1'796'100'000'000;

std::string joined(const Corpus& corpus) {
  std::string bytes;
  for (const auto& event : corpus.events)
    bytes += event + "\n";
  return bytes;
}

Result<std::unique_ptr<Store>> open_store(const fs::path& path) {
  return Store::open(
      {.directory = path / "store", .host = "bench", .purpose = "bench", .now_ms = kNow},
      Access::Write);
}

Result<void> ingest_all(Store& store, const std::string& bytes) {
  RESPOOL_TRY(const auto recorder, Recorder::open(store));
  IngestOptions options;
  options.now_ms = [] { return kNow; };
  Ingester ingester(*recorder, options);
  RESPOOL_TRY(ingester.read_bytes(bytes, "bench", 1 << 20));
  return recorder->finish();
}

void count(benchmark::State& state, const Corpus& corpus) {
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(corpus.events.size()));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(corpus.bytes));
}

// A fresh store from nothing to closed and sealed; disk_ratio is its size against the raw bytes.
void BM_Ingest(benchmark::State& state, const char* name) {
  const std::string bytes = joined(corpus(name));
  double ratio = 0;
  for (auto _ : state) {
    const ScratchDirectory dir;
    auto store = open_store(dir.path());
    if (!store) return state.SkipWithError(store.error().message().c_str());
    if (const auto done = ingest_all(*store.value(), bytes); !done)
      return state.SkipWithError(done.error().message().c_str());
    if (const auto closed = store.value()->close(); !closed)
      return state.SkipWithError(closed.error().message().c_str());
    ratio = static_cast<double>(store.value()->disk_bytes()) / static_cast<double>(bytes.size());
  }
  state.counters["disk_ratio"] = ratio;
  count(state, corpus(name));
}

// The same bytes inserted into SQLite in WAL mode, 512 rows a transaction, and nothing else.
void BM_SqliteInsert(benchmark::State& state, const char* name) {
  const auto& events = corpus(name).events;
  for (auto _ : state) {
    const ScratchDirectory dir;
    sqlite3* db = nullptr;
    sqlite3_open((dir.path() / "events.db").c_str(), &db);
    sqlite3_exec(db,
                 "pragma journal_mode=wal; create table event(id integer primary key, data text)",
                 nullptr,
                 nullptr,
                 nullptr);
    sqlite3_stmt* insert = nullptr;
    sqlite3_prepare_v2(db, "insert into event(data) values(?)", -1, &insert, nullptr);
    for (std::size_t i = 0; i < events.size(); ++i) {
      if (i % 512 == 0)
        sqlite3_exec(db, i == 0 ? "begin" : "commit; begin", nullptr, nullptr, nullptr);
      sqlite3_bind_text(
          insert, 1, events[i].data(), static_cast<int>(events[i].size()), SQLITE_STATIC);
      if (sqlite3_step(insert) != SQLITE_DONE) return state.SkipWithError("sqlite");
      sqlite3_reset(insert);
    }
    sqlite3_exec(db, "commit", nullptr, nullptr, nullptr);
    sqlite3_finalize(insert);
    sqlite3_close(db);
  }
  count(state, corpus(name));
}

// Decoding and folding in memory, without any store.
void BM_Fold(benchmark::State& state, const char* name) {
  const auto& events = corpus(name).events;
  for (auto _ : state) {
    std::map<std::string, SessionFacts> sessions;
    std::uint64_t number = 0;
    for (const auto& event : events) {
      const Record record = decode_record(event);
      auto& facts = sessions[record.session];
      facts.name = {StreamKind::Session, record.session};
      EventContext context;
      context.ref = fb::EventRef(++number, 1);
      context.shape = record.shape;
      context.wire_type = record.wire_type;
      context.time_ms = record.time_ms;
      context.raw_bytes = event.size();
      fold(facts, context, record);
    }
    benchmark::DoNotOptimize(sessions.size());
  }
  count(state, corpus(name));
}

// Folding a store's whole log into a new generation of its model.
void BM_Rebuild(benchmark::State& state, const char* name) {
  const ScratchDirectory dir;
  auto store = open_store(dir.path());
  if (!store) return state.SkipWithError(store.error().message().c_str());
  if (const auto done = ingest_all(*store.value(), joined(corpus(name))); !done)
    return state.SkipWithError(done.error().message().c_str());
  for (auto _ : state) {
    if (const auto done = rebuild_model(*store.value()); !done)
      return state.SkipWithError(done.error().message().c_str());
  }
  count(state, corpus(name));
}

#define RESPOOL_BENCH(function)                     \
  BENCHMARK_CAPTURE(function, small, "small")       \
      ->MeasureProcessCPUTime()                     \
      ->Unit(benchmark::kMillisecond);              \
  BENCHMARK_CAPTURE(function, mixed, "mixed")       \
      ->MeasureProcessCPUTime()                     \
      ->Unit(benchmark::kMillisecond);              \
  BENCHMARK_CAPTURE(function, recorded, "recorded") \
      ->MeasureProcessCPUTime()                     \
      ->Unit(benchmark::kMillisecond)

RESPOOL_BENCH(BM_Fold);
RESPOOL_BENCH(BM_Ingest);
RESPOOL_BENCH(BM_SqliteInsert);
RESPOOL_BENCH(BM_Rebuild);

}  // namespace
}  // namespace respool::bench
