#include <cstring>

#include <benchmark/benchmark.h>
#include <simdjson.h>

#include "schema/digest.h"
#include "schema/opencode/record.h"

#include "bench/corpus/corpus.h"

// What one pass over the corpus costs, event by event, beside the least it could cost. Items are
// events, bytes are delivered bytes; every figure is of one thread's CPU time.
namespace respool::bench {
namespace {

void count(benchmark::State& state, const Corpus& corpus) {
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(corpus.events.size()));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(corpus.bytes));
}

// Copying the bytes: what the hardware allows.
void BM_Memcpy(benchmark::State& state, const char* name) {
  const auto& events = corpus(name).events;
  std::string buffer;
  for (auto _ : state) {
    for (const auto& event : events) {
      buffer.assign(event);
      benchmark::DoNotOptimize(buffer.data());
    }
  }
  count(state, corpus(name));
}

void BM_Sha256(benchmark::State& state, const char* name) {
  const auto& events = corpus(name).events;
  for (auto _ : state) {
    for (const auto& event : events)
      benchmark::DoNotOptimize(sha256(event));
  }
  count(state, corpus(name));
}

// The envelope and the ids, by hand on simdjson's on-demand front end: the yardstick of decode.
void BM_SimdjsonExtraction(benchmark::State& state, const char* name) {
  const auto& events = corpus(name).events;
  simdjson::ondemand::parser parser;
  std::string buffer;
  for (auto _ : state) {
    std::size_t found = 0;
    for (const auto& event : events) {
      buffer.reserve(event.size() + simdjson::SIMDJSON_PADDING);
      buffer.assign(event);
      simdjson::ondemand::document document;
      if (parser.iterate(buffer.data(), buffer.size(), buffer.capacity()).get(document)) continue;
      std::string_view id;
      std::string_view type;
      std::string_view session;
      simdjson::ondemand::object properties;
      if (document["id"].get(id) || document["type"].get(type) ||
          document["properties"].get(properties))
        continue;
      if (!properties["sessionID"].get(session)) ++found;
      simdjson::ondemand::object inner;
      if (!properties["part"].get(inner) || !properties["info"].get(inner)) {
        std::string_view text;
        if (!inner["id"].get(text)) ++found;
        if (!inner["messageID"].get(text)) ++found;
        if (!inner["type"].get(text)) ++found;
      }
    }
    benchmark::DoNotOptimize(found);
  }
  count(state, corpus(name));
}

void BM_Decode(benchmark::State& state, const char* name) {
  const auto& events = corpus(name).events;
  for (const auto& event : events) {
    if (decode_record(event).problems != kNoProblem)
      return state.SkipWithError("an event does not decode");
  }
  for (auto _ : state) {
    for (const auto& event : events)
      benchmark::DoNotOptimize(decode_record(event));
  }
  count(state, corpus(name));
}

#define RESPOOL_BENCH(function)                \
  BENCHMARK_CAPTURE(function, small, "small"); \
  BENCHMARK_CAPTURE(function, mixed, "mixed"); \
  BENCHMARK_CAPTURE(function, recorded, "recorded")

RESPOOL_BENCH(BM_Memcpy);
RESPOOL_BENCH(BM_Sha256);
RESPOOL_BENCH(BM_SimdjsonExtraction);
RESPOOL_BENCH(BM_Decode);

}  // namespace
}  // namespace respool::bench
