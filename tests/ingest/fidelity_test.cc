#include <map>
#include <set>

#include <catch2/catch.hpp>

#include "engine/log/event_log.h"

#include "tests/support/temp_store.h"

namespace respool::test {
namespace {

// The lines as a store must give them back: a line repeated to the same session is one.
std::vector<std::string> without_repeats(const std::vector<std::string>& lines) {
  std::set<std::string> seen;
  std::vector<std::string> unique;
  for (const auto& line : lines) {
    if (seen.insert(line).second) unique.push_back(line);
  }
  return unique;
}

}  // namespace

TEST_CASE("every run capture comes back byte for byte, in order", "[ingest]") {
  const auto files = captures("run", ".ndjson");
  REQUIRE(files.size() >= 138);
  for (const auto& file : files) {
    INFO(short_name(file));
    TempStore store;
    const std::string bytes = read_file(file);

    const auto counts = store.ingest(bytes);

    const auto expected = without_repeats(delivered_lines(bytes));
    CHECK(store.raw_events() == expected);
    CHECK(counts.appended == expected.size());
    CHECK(counts.malformed == 0);
    CHECK(counts.unknown == 0);
  }
}

TEST_CASE("every event stream comes back byte for byte, in order", "[ingest]") {
  std::size_t streams = 0;
  for (const auto& folder : serve_captures()) {
    for (const auto& name : {"event.sse", "global-event.sse", "api-event.sse"}) {
      if (!fs::exists(folder / name)) continue;
      INFO(short_name(folder / name));
      ++streams;
      TempStore store;
      const std::string bytes = read_file(folder / name);

      const auto counts = store.ingest(bytes);

      CHECK(store.raw_events() == without_repeats(delivered_lines(bytes)));
      CHECK(counts.malformed == 0);
      CHECK(counts.unknown == 0);
    }
  }
  REQUIRE(streams > 80);
}

TEST_CASE("the corpus comes back byte for byte, in order within each session", "[ingest]") {
  const std::string bytes = corpus_file("events.sse");
  TempStore store;

  const auto counts = store.ingest(bytes);

  CHECK(counts.appended == 15'753);
  CHECK(store.raw_events() == without_repeats(delivered_lines(bytes)));
}

TEST_CASE("an export's objects come back byte for byte, in the file's order", "[ingest]") {
  for (const auto& file : captures("store", ".json")) {
    INFO(short_name(file));
    const std::string bytes = read_file(file);
    TempStore store;

    const auto counts = store.ingest(bytes);

    CHECK(counts.malformed == 0);
    std::size_t at = 0;
    std::string between;
    const auto view = store.reader();
    const auto last = value(last_position(view.view()));
    for (std::uint64_t position = 1; position <= last.value; ++position) {
      const auto event = value(read_event_at(view.view(), {position}));
      REQUIRE(event.header.place >= at);
      between += bytes.substr(at, event.header.place - at);
      REQUIRE(bytes.substr(event.header.place, event.raw.size()) == event.raw);
      at = event.header.place + event.raw.size();
    }
    between += bytes.substr(at);
    // What is left is the frame around the objects: no content.
    std::erase_if(between, [](char c) { return c == ' ' || c == '\n'; });
    for (const std::string_view frame : {"\"info\":", "\"messages\":", "\"parts\":"}) {
      for (auto found = between.find(frame); found != std::string::npos;
           found = between.find(frame))
        between.erase(found, frame.size());
    }
    CHECK(between.find_first_not_of("{}[],") == std::string::npos);
  }
}

TEST_CASE("an event above the chunk size comes back whole", "[ingest][log]") {
  const std::string text(3 * kChunkBytes + 17, 'x');
  const std::string line =
      R"({"type":"text","timestamp":1796071385023,"sessionID":"ses_big","part":{"id":"prt_1","messageID":"msg_1","sessionID":"ses_big","type":"text","text":")" +
      text + R"(","time":{"start":1,"end":2}}})";
  TempStore store;

  store.ingest(line + "\n" + line + "\n");

  const auto events = store.raw_events();
  REQUIRE(events.size() == 1);
  CHECK(events.front() == line);
  CHECK(store.facts("ses_big").messages.at("msg_1").parts.at("prt_1").text_bytes == text.size());
}

}  // namespace respool::test
