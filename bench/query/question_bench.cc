#include <algorithm>

#include <benchmark/benchmark.h>

#include "engine/model/recorder.h"
#include "engine/storage/scratch_directory.h"

#include "ingest/ingester.h"
#include "query/replay/prefix.h"
#include "query/replay/resume_decision.h"
#include "query/views/binding_view.h"
#include "query/views/session_view.h"
#include "query/views/usage_view.h"

#include "bench/corpus/corpus.h"

// What an answer costs on a store that holds the corpus, opened once.
namespace respool::bench {
namespace {

constexpr std::int64_t kNow = 1'796'100'000'000;

// A closed store with the corpus in it, and a reader of it.
class FilledStore {
 public:
  explicit FilledStore(const char* name) {
    if (const auto filled = fill(name); !filled) error_ = filled.error().message();
  }
  FilledStore(const FilledStore&) = delete;
  FilledStore& operator=(const FilledStore&) = delete;

  const Store& store() const { return *store_; }
  const std::string& error() const { return error_; }

 private:
  Result<void> fill(const char* name) {
    const StoreOptions options{
        .directory = dir_.path() / "store", .host = "bench", .purpose = "bench", .now_ms = kNow};
    RESPOOL_TRY(store_, Store::open(options, Access::Write));
    std::string bytes;
    for (const auto& event : corpus(name).events)
      bytes += event + "\n";
    RESPOOL_TRY(const auto recorder, Recorder::open(*store_));
    IngestOptions ingest;
    ingest.now_ms = [] { return kNow; };
    Ingester ingester(*recorder, ingest);
    RESPOOL_TRY(ingester.read_bytes(bytes, "bench"));
    RESPOOL_TRY(recorder->finish());
    RESPOOL_TRY(store_->close());
    RESPOOL_TRY(store_, Store::open(options, Access::Read));
    return ok();
  }

  ScratchDirectory dir_;  // outlives the store in it
  std::unique_ptr<Store> store_;
  std::string error_;
};

void BM_Usage(benchmark::State& state, const char* name) {
  const FilledStore filled(name);
  if (!filled.error().empty()) return state.SkipWithError(filled.error().c_str());
  const StoreReader reader(filled.store());
  const auto zone = Zone::find("UTC");
  for (auto _ : state) {
    const auto answer =
        usage(reader, {UsageKey::Day, UsageKey::Model}, {}, zone.value(), nullptr, "");
    if (!answer) return state.SkipWithError(answer.error().message().c_str());
  }
}

void BM_Sessions(benchmark::State& state, const char* name) {
  const FilledStore filled(name);
  if (!filled.error().empty()) return state.SkipWithError(filled.error().c_str());
  const StoreReader reader(filled.store());
  for (auto _ : state) {
    const auto lines = list_sessions(reader, {}, {"", "bench"});
    if (!lines) return state.SkipWithError(lines.error().message().c_str());
  }
}

// The session with the most steps; bytes are those of its transcript.
void BM_Replay(benchmark::State& state, const char* name) {
  const FilledStore filled(name);
  if (!filled.error().empty()) return state.SkipWithError(filled.error().c_str());
  const StoreReader reader(filled.store());
  const auto sessions = reader.sessions();
  if (!sessions || sessions.value().empty()) return state.SkipWithError("no sessions");
  const auto& largest = *std::max_element(
      sessions.value().begin(), sessions.value().end(), [](const auto& a, const auto& b) {
        return a.totals.usage->steps < b.totals.usage->steps;
      });
  std::size_t bytes = 0;
  for (auto _ : state) {
    const auto transcript = read_transcript(reader, largest.number, {});
    if (!transcript) return state.SkipWithError(transcript.error().message().c_str());
    bytes = 0;
    for (const auto& item : transcript.value().items)
      bytes += item.text.size() + item.input.size();
    benchmark::DoNotOptimize(render_replay(transcript.value(), {}));
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes));
}

// How one session goes on here, with the store open: its bindings are read and the rung is chosen.
void BM_DecideResume(benchmark::State& state, const char* name) {
  const FilledStore filled(name);
  if (!filled.error().empty()) return state.SkipWithError(filled.error().c_str());
  const StoreReader reader(filled.store());
  const auto sessions = reader.sessions();
  if (!sessions || sessions.value().empty()) return state.SkipWithError("no sessions");
  Filter filter;
  filter.session = sessions.value().back().row.id;
  for (auto _ : state) {
    auto bindings = list_bindings(reader, filter, {"/work", "bench"});
    if (!bindings) return state.SkipWithError(bindings.error().message().c_str());
    benchmark::DoNotOptimize(decide_resume({.session = filter.session,
                                            .bindings = std::move(bindings).value(),
                                            .here = {"bench", "/work"},
                                            .directory_given = true,
                                            .part_of_it = false,
                                            .asked = std::nullopt}));
  }
}

#define RESPOOL_BENCH(function)                                               \
  BENCHMARK_CAPTURE(function, small, "small")->Unit(benchmark::kMicrosecond); \
  BENCHMARK_CAPTURE(function, mixed, "mixed")->Unit(benchmark::kMicrosecond); \
  BENCHMARK_CAPTURE(function, recorded, "recorded")->Unit(benchmark::kMicrosecond)

RESPOOL_BENCH(BM_Usage);
RESPOOL_BENCH(BM_Sessions);
RESPOOL_BENCH(BM_Replay);
RESPOOL_BENCH(BM_DecideResume);

}  // namespace
}  // namespace respool::bench
