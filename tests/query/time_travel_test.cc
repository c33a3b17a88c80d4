#include <algorithm>
#include <random>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "query/views/transcript.h"

#include "tests/support/temp_store.h"

namespace respool::test {
namespace {

std::string text_of(const Transcript& transcript) {
  std::string text = transcript.session + " " + transcript.title + "\n";
  for (const auto& item : transcript.items) {
    text += fmt::format("{} {} {} {} {} {} {} {} {} {} {}\n",
                        item.message,
                        item.part,
                        item.role,
                        item.kind,
                        item.time_ms.value_or(0),
                        item.tool,
                        item.outcome ? outcome_name(*item.outcome) : "",
                        item.removed,
                        item.summary,
                        item.input,
                        item.text);
  }
  return text;
}

// Appends a stored event to another store as it was delivered.
void append_again(Recorder& recorder, const StoreReader& from, const StoredEvent& event) {
  Observation observation;
  observation.stream = value(stream_of(from.view(), event.session));
  observation.shape = event.shape();
  observation.wire_type = event.header.wire_type;
  observation.time_ms = event.header.time_ms;
  observation.received_ms = event.header.received_ms;
  observation.as_of_ms = event.header.as_of_ms;
  observation.raw = event.raw;
  value(recorder.record(observation,
                        decode_record(event.raw, event.shape(), observation.stream.text)));
}

Transcript at(const StoreReader& reader, SessionNumber number, const Point& point) {
  return value(read_transcript(reader, number, point));
}

}  // namespace

TEST_CASE("a session at a cursor is what a store with only the events up to there shows",
          "[query][time-travel]") {
  const unsigned seed = 99;
  INFO("seed " << seed);
  TempStore whole;
  for (const auto* name : {"revert",
                           "compact-auto",
                           "abort-tool",
                           "tools-edit",
                           "subagent",
                           "fork",
                           "permission-once"}) {
    const auto folder = data_path(std::string("captures/1.18.33/serve/") + name);
    whole.ingest_file(folder / "event.sse");
    whole.ingest_file(folder / "messages.0.json");
    whole.ingest_file(folder / "global-event.sse");
  }
  const StoreReader reader = whole.reader();
  const auto last = value(last_position(reader.view()));
  std::mt19937 random(seed);
  std::vector<std::uint64_t> cursors;
  for (int i = 0; i < 500; ++i)
    cursors.push_back(1 + random() % last.value);
  std::sort(cursors.begin(), cursors.end());

  TempStore partial;
  auto recorder = value(Recorder::open(partial.store()));
  std::uint64_t appended = 0;
  std::size_t compared = 0;
  for (const auto cursor : cursors) {
    for (; appended < cursor; ++appended)
      append_again(*recorder, reader, value(read_event_at(reader.view(), {appended + 1})));
    check(recorder->commit());
    const StoreReader so_far = partial.reader();
    const auto sessions = value(so_far.sessions());
    if (sessions.empty()) continue;
    const auto& session = sessions[random() % sessions.size()];
    INFO("cursor " << cursor << " session " << session.row.id);
    Point point;
    point.until.position = LogPosition{cursor};

    const auto travelled = at(reader, whole.number(session.row.id), point);

    ++compared;
    CHECK(text_of(travelled) == text_of(at(so_far, session.number, {})));
  }
  CHECK(compared > 490);
}

TEST_CASE("a session at a message ends with it, or before it", "[query][time-travel]") {
  TempStore store;
  store.ingest_file(data_path("captures/1.18.33/serve/tools-edit/event.sse"));
  const auto session = store.session_ids().front();
  const auto number = store.number(session);
  const auto all = at(store.reader(), number, {});
  const std::string message = all.items[all.items.size() / 2].message;
  const auto zone = value(Zone::find("UTC"));

  const auto up_to = at(store.reader(), number, value(parse_point(message, false, zone, kNow)));
  const auto before = at(store.reader(), number, value(parse_point(message, true, zone, kNow)));

  CHECK(up_to.items.back().message == message);
  CHECK(before.items.size() < up_to.items.size());
  for (const auto& item : before.items)
    CHECK(item.message != message);
  const auto missing =
      read_transcript(store.reader(), number, value(parse_point("msg_none", false, zone, kNow)));
  REQUIRE(missing.has_error());
  CHECK(missing.error().code() == ErrorCode::NotFound);
}

TEST_CASE("a session at a time shows what its observations said by then", "[query][time-travel]") {
  TempStore store;
  store.ingest_file(data_path("captures/1.18.33/serve/revert/event.sse"));
  const auto number = store.number(store.session_ids().front());
  const auto zone = value(Zone::find("UTC"));
  const auto now = at(store.reader(), number, {});
  const auto removed = [](const Transcript& transcript) {
    return std::count_if(transcript.items.begin(), transcript.items.end(), [](const auto& item) {
      return item.removed;
    });
  };
  REQUIRE(removed(now) > 0);

  // One second after the session's last removed answer, before the revert.
  const auto early =
      at(store.reader(), number, value(parse_point("2026-11-30T20:53:49Z", false, zone, kNow)));

  CHECK_FALSE(early.items.empty());
  CHECK(early.items.size() < now.items.size());
  CHECK(removed(early) == 0);
}

TEST_CASE("a state file at a time shows the messages made by then", "[query][time-travel]") {
  TempStore store;
  const auto file = data_path("captures/1.18.33/store/export-tools.json");
  store.ingest_file(file);
  const auto session = store.session_ids().front();
  const auto facts = store.facts(session);
  std::vector<std::int64_t> times;
  for (const auto& [id, message] : facts.messages)
    times.push_back(*message.row->created_ms);
  std::sort(times.begin(), times.end());
  Point point;
  point.until.time_ms = times[times.size() / 2];

  const auto early = value(store.reader().facts_at(store.number(session), point));

  std::size_t live = 0;
  for (const auto& [id, message] : early.messages) {
    live += message.row ? 1 : 0;
    // What a user wrote states no time of its own: it counts from its message on.
    if (message.row && message.row->role == "user") CHECK_FALSE(message.parts.empty());
  }
  CHECK(live == times.size() / 2 + 1);
}

}  // namespace respool::test
