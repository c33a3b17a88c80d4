#include <algorithm>
#include <random>
#include <set>

#include <catch2/catch.hpp>

#include "engine/model/recorder.h"

#include "query/views/usage_view.h"

#include "tests/support/temp_store.h"

namespace respool::test {
namespace {

std::string joined(const std::vector<std::string>& lines) {
  std::string bytes;
  for (const auto& line : lines)
    bytes += line + "\n";
  return bytes;
}

// All observations of a serve capture as lines, and its state files whole.
struct Sources {
  std::vector<std::string> lines;
  std::vector<std::string> files;
};

Sources sources_of(const fs::path& folder) {
  Sources sources;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string bytes = read_file(entry.path());
    if (entry.path().extension() == ".sse") {
      for (auto& line : delivered_lines(bytes))
        sources.lines.push_back(std::move(line));
    } else {
      sources.files.push_back(bytes);
    }
  }
  std::sort(sources.lines.begin(), sources.lines.end());
  std::sort(sources.files.begin(), sources.files.end());
  return sources;
}

// Ingests the sources in a random order, some lines twice, cut into random files.
void ingest_shuffled(TempStore& store, Sources sources, std::mt19937& random) {
  const std::size_t lines = sources.lines.size();
  for (std::size_t i = 0; i < lines / 4; ++i)
    sources.lines.push_back(sources.lines[random() % lines]);
  std::shuffle(sources.lines.begin(), sources.lines.end(), random);
  std::vector<std::string> inputs = sources.files;
  const std::size_t cuts = 1 + random() % 4;
  const std::size_t piece = sources.lines.size() / cuts + 1;
  for (std::size_t at = 0; at < sources.lines.size(); at += piece) {
    const auto end = std::min(at + piece, sources.lines.size());
    inputs.push_back(joined({sources.lines.begin() + static_cast<std::ptrdiff_t>(at),
                             sources.lines.begin() + static_cast<std::ptrdiff_t>(end)}));
  }
  std::shuffle(inputs.begin(), inputs.end(), random);
  for (const auto& input : inputs)
    store.ingest(input);
}

// The first line in which two dumps differ, for a readable failure.
std::string first_difference(const std::string& a, const std::string& b) {
  const auto at = static_cast<std::size_t>(
      std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
  const auto begin = a.rfind('\n', at) == std::string::npos ? 0 : a.rfind('\n', at) + 1;
  return a.substr(begin, 120);
}

}  // namespace

TEST_CASE("any order, repetition and split of a session's observations folds to the same model",
          "[engine][facts][order]") {
  const unsigned seed = 20261130;
  INFO("seed " << seed);
  std::mt19937 random(seed);
  for (const auto& folder : serve_captures()) {
    INFO(short_name(folder));
    const Sources sources = sources_of(folder);
    if (sources.lines.empty() && sources.files.empty()) continue;
    TempStore straight;
    for (const auto& file : sources.files)
      straight.ingest(file);
    straight.ingest(joined(sources.lines));
    const std::string expected = dump_model(straight.reader());

    for (int round = 0; round < 3; ++round) {
      TempStore shuffled;
      ingest_shuffled(shuffled, sources, random);
      const std::string dump = dump_model(shuffled.reader());
      INFO(first_difference(expected, dump));
      CHECK((dump == expected));
      CHECK(damage_of(shuffled.store()) == "");
    }
  }
}

TEST_CASE("the corpus shuffled, with its exports mixed in, folds to the same model",
          "[engine][facts][order][corpus]") {
  auto lines = delivered_lines(corpus_file("events.sse"));
  const std::string exports = corpus_file("exports.ndjson");
  TempStore straight;
  straight.ingest(joined(lines));
  straight.ingest(exports);
  const std::string expected = dump_model(straight.reader());
  std::mt19937 random(7);
  std::shuffle(lines.begin(), lines.end(), random);
  TempStore shuffled;

  shuffled.ingest(exports);
  shuffled.ingest(joined(lines));

  const std::string dump = dump_model(shuffled.reader());
  INFO(first_difference(expected, dump));
  CHECK((dump == expected));
}

TEST_CASE("a rebuild changes nothing, byte for byte", "[engine][model]") {
  TempStore store;
  store.ingest(corpus_file("events.sse"));
  store.ingest_file(data_path("captures/1.18.33/serve/revert/global-event.sse"));
  store.ingest_file(data_path("captures/1.18.33/run/tool-task-subagent.ndjson"));
  const auto rows = [&] {
    std::string all;
    RowCursor cursor = store.store().view().scan_prefix(Family::Model, "");
    for (; cursor.valid(); cursor.next())
      all += std::string(cursor.key()) + "=" + std::string(cursor.value()) + "\n";
    return all;
  };
  const std::string before = rows();
  const auto generation = store.store().meta().generation;

  check(rebuild_model(store.store()));

  CHECK(damage_of(store.store()) == "");
  CHECK(store.store().meta().generation == generation + 1);
  CHECK((rows() == before));
}

TEST_CASE("run lines, both event streams and the export of one session count each step once",
          "[query][usage]") {
  // The events of a serve session, its messages, and run lines made of the same parts.
  const auto folder = data_path("captures/1.18.33/serve/tools-edit");
  TempStore alone;
  alone.ingest_file(folder / "messages.0.json");
  const auto expected = *value(alone.reader().sessions()).front().totals.usage;
  const std::string session = alone.session_ids().front();
  std::string run;
  for (const auto& event : alone.raw_events()) {
    const bool finish = event.find("\"type\":\"step-finish\"") != std::string::npos;
    if (finish)
      run += R"({"type":"step_finish","timestamp":1796072600000,"sessionID":")" + session +
             R"(","part":)" + event + "}\n";
  }
  REQUIRE_FALSE(run.empty());
  TempStore store;

  store.ingest(run);
  store.ingest_file(folder / "event.sse");
  store.ingest_file(folder / "global-event.sse");
  store.ingest_file(folder / "messages.0.json");

  const auto usage = *value(store.reader().sessions()).front().totals.usage;
  CHECK(usage.steps == expected.steps);
  CHECK(usage.cost_nanos == expected.cost_nanos);
  CHECK(usage.input == expected.input);
}

TEST_CASE("a sanitised export beside the real one changes nothing", "[engine][facts]") {
  const auto real = data_path("captures/1.18.33/store/export-tools.json");
  const auto sanitised = data_path("captures/1.18.33/store/export-sanitized.json");
  TempStore alone;
  alone.ingest_file(real);
  for (const bool sanitised_first : {false, true}) {
    INFO("sanitised first: " << sanitised_first);
    TempStore store;

    store.ingest_file(sanitised_first ? sanitised : real);
    store.ingest_file(sanitised_first ? real : sanitised);

    REQUIRE(store.session_ids() == alone.session_ids());
    CHECK((dump_model(store.reader()) == dump_model(alone.reader())));
  }
}

TEST_CASE("delivering everything again appends nothing and changes nothing", "[ingest]") {
  TempStore store;
  store.ingest(corpus_file("events.sse"));
  const std::string before = dump_model(store.reader());

  const auto counts = store.ingest(corpus_file("events.sse"));

  CHECK(counts.appended == 0);
  CHECK(counts.duplicates == 15'753);
  CHECK((dump_model(store.reader()) == before));
}

}  // namespace respool::test
