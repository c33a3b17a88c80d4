#include "ingest/drain.h"

#include <atomic>
#include <thread>

#include <fcntl.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "engine/storage/keys.h"

#include "tests/support/recording_text.h"
#include "tests/support/temp_store.h"

namespace respool::test {
namespace {

using Lines = std::vector<std::string>;

// A store and a spool beside it.
class SpooledStore : public TempStore {
 public:
  DrainReport drain(const std::atomic<bool>* stop = nullptr) {
    const auto recorder = value(Recorder::open(store()));
    return value(drain_spool(
        store(), *recorder, {.folders = {spool()}, .now_ms = [] { return kNow; }, .stop = stop}));
  }
  fs::path put(const std::string& id,
               const WriterIdentity& writer,
               bool done,
               const std::string& bytes) const {
    return put_recording(spool(), id, writer, done, bytes);
  }
  fs::path spool() const { return path() / "spool"; }

  std::size_t cursors() {
    const ReadView view = store().view();
    std::size_t count = 0;
    RowCursor rows = view.scan_prefix(Family::Index, keys::spool_cursor_prefix());
    for (; rows.valid(); rows.next())
      ++count;
    check(rows.finish());
    return count;
  }
  std::uint64_t undrained() {
    const ReadView view = store().view();
    return value(spool_state(&view, {spool()})).undrained_bytes;
  }
  std::string outcome_of(const std::string& session, const std::string& run) const {
    const auto all = facts(session).runs;
    const auto found = all.find(run);
    return found == all.end() ? "no such run" : found->second.outcome;
  }
  // The raw bytes of a stream, in order.
  Lines stream(StreamKind kind, const std::string& name) {
    Lines found;
    const ReadView view = store().view();
    const auto last = value(last_position(view));
    for (std::uint64_t at = 1; at <= last.value; ++at) {
      const auto event = value(read_event_at(view, {at}));
      const auto stream = value(stream_of(view, event.session));
      if (stream.kind == kind && stream.text == name) found.push_back(event.raw);
    }
    return found;
  }
};

// A whole run: its notes, two texts, its end.
Lines whole_run(const std::string& id, const std::string& session) {
  return {start_note("run_" + id),
          prompt_note("Do it."),
          run_line(session, 1),
          run_line(session, 2),
          end_note("run_" + id, "completed", kRunMs + 9)};
}

}  // namespace

TEST_CASE("done recordings are taken in whole, and then they are gone", "[ingest][spool]") {
  SpooledStore store;
  const auto one =
      store.put("a", dead_writer(), true, recording_text("a", "run", whole_run("a", "ses_1")));
  const auto two =
      store.put("b", this_process(), true, recording_text("b", "run", whole_run("b", "ses_2")));

  const auto report = store.drain();

  CHECK(report.recordings == 2);
  CHECK((report.broken.empty() && report.abandoned.empty()));
  CHECK_FALSE((fs::exists(one) || fs::exists(two)));
  CHECK(store.stream(StreamKind::Session, "ses_1") == whole_run("a", "ses_1"));
  CHECK(store.stream(StreamKind::Session, "ses_2") == whole_run("b", "ses_2"));
  CHECK(store.outcome_of("ses_1", "run_a") == "completed");
  CHECK(damage_of(store.store()).empty());
}

TEST_CASE("of a recording that is being written, whole lines are taken in, and later the rest",
          "[ingest][spool]") {
  SpooledStore store;
  const Lines lines = {run_line("ses_1", 1), run_line("ses_1", 2), run_line("ses_1", 3)};
  const std::string half = lines[2].substr(0, 20);
  const auto path = store.put(
      "a", this_process(), false, recording_text("a", "run", {lines[0], lines[1]}) + half);

  CHECK(store.drain().recordings == 1);
  CHECK(store.raw_events() == Lines{lines[0], lines[1]});
  CHECK(fs::exists(path));
  CHECK(store.undrained() == half.size());
  CHECK(store.drain().recordings == 0);

  append_to(path, lines[2].substr(half.size()) + "\n");
  CHECK(store.drain().counts.appended == 1);
  CHECK(store.raw_events() == lines);
  CHECK(store.undrained() == 0);

  const auto done = store.spool() / spool_file_name("a", this_process(), true);
  append_to(path, run_line("ses_1", 4) + "\n");
  fs::rename(path, done);
  CHECK(store.drain().counts.appended == 1);
  CHECK_FALSE(fs::exists(done));
  CHECK(store.raw_events().size() == 4);
  CHECK(damage_of(store.store()).empty());
}

TEST_CASE("the header of a recording that is being written may be torn too", "[ingest][spool]") {
  SpooledStore store;
  const std::string text = recording_text("a", "run", {run_line("ses_1", 1)});
  const auto path = store.put("a", this_process(), false, text.substr(0, 30));

  const auto report = store.drain();
  CHECK(report.broken.empty());
  CHECK(report.recordings == 0);
  append_to(path, text.substr(30));
  CHECK(store.drain().counts.appended == 1);
}

TEST_CASE("a dead writer's recording is taken in to its torn end, and its run was aborted",
          "[ingest][spool]") {
  SpooledStore store;
  const std::string torn = run_line("ses_1", 2).substr(0, 50);
  const auto path =
      store.put("a",
                dead_writer(),
                false,
                recording_text("a", "run", {start_note("run_a"), run_line("ses_1", 1)}) + torn);

  const auto report = store.drain();

  CHECK(report.counts.malformed == 1);
  CHECK(report.counts.first_damage.find("a, byte ") == 0);
  CHECK(report.abandoned == Lines{"ses_1"});
  CHECK_FALSE(fs::exists(path));
  const auto events = store.stream(StreamKind::Session, "ses_1");
  REQUIRE(events.size() == 4);
  CHECK(events[2] == torn);
  CHECK(store.outcome_of("ses_1", "run_a") == "aborted");
  CHECK(damage_of(store.store()).empty());
}

TEST_CASE("a run whose end is on record keeps its outcome though its recorder died after",
          "[ingest][spool]") {
  SpooledStore store;
  Lines lines = whole_run("a", "ses_1");
  SECTION("the clock stands still") {}
  // The note is written just after the clock line that is due before it.
  SECTION("the clock went on") {
    lines.insert(lines.end() - 1, clock_note(kRunMs + 10));
  }
  store.put("a", dead_writer(), false, recording_text("a", "run", lines));

  store.drain();

  CHECK(store.outcome_of("ses_1", "run_a") == "completed");
}

TEST_CASE("draining again adds nothing", "[ingest][spool]") {
  SpooledStore store;
  store.put("a", dead_writer(), true, recording_text("a", "run", whole_run("a", "ses_1")));
  store.put("b", this_process(), false, recording_text("b", "run", {run_line("ses_2", 1)}));
  store.drain();
  const std::string model = dump_model(store.reader());
  const auto events = store.raw_events();

  const auto report = store.drain();

  CHECK(report.recordings == 0);
  CHECK(report.counts.observations == 0);
  CHECK(store.raw_events() == events);
  CHECK(dump_model(store.reader()) == model);
}

TEST_CASE("a crash between taking a recording in and removing it adds nothing", "[ingest][spool]") {
  SpooledStore store;
  std::string text = recording_text("a", "run", whole_run("a", "ses_1"));
  const auto [writer, done] = GENERATE(table<bool, bool>({{true, true}, {false, false}}));
  INFO("done: " << done);
  if (!done) text += "torn";
  const auto identity = writer ? this_process() : dead_writer();
  const auto path = store.put("a", identity, done, text);
  store.drain();
  REQUIRE_FALSE(fs::exists(path));
  const std::string model = dump_model(store.reader());
  const auto events = store.raw_events();

  SECTION("the file is there again at once") {
    write_file(path, text);
    CHECK((store.undrained() == 0 && store.drain().counts.observations == 0));
  }
  SECTION("the file is there again when its cursor is forgotten") {
    store.drain();
    write_file(path, text);
    CHECK(store.drain().counts.appended == 0);
  }

  CHECK_FALSE(fs::exists(path));
  CHECK(store.raw_events() == events);
  CHECK(dump_model(store.reader()) == model);
}

TEST_CASE("what the store knows of a recording goes when its file is gone", "[ingest][spool]") {
  SpooledStore store;
  const auto path =
      store.put("a", this_process(), false, recording_text("a", "run", {run_line("ses_1", 1)}));
  store.put("b", this_process(), true, recording_text("b", "run", whole_run("b", "ses_2")));
  store.drain();
  CHECK(store.cursors() == 2);

  store.drain();
  CHECK(store.cursors() == 1);
  fs::remove(path);
  store.drain();
  CHECK(store.cursors() == 0);
}

TEST_CASE("notes that come before a run names its session wait for it, and belong to it",
          "[ingest][spool]") {
  SpooledStore store;
  const Lines lines = whole_run("a", "ses_1");
  const auto path =
      store.put("a", this_process(), false, recording_text("a", "run", {lines[0], lines[1]}));

  store.drain();
  CHECK(store.raw_events().empty());
  CHECK(store.undrained() > 0);
  append_to(path, lines[2] + "\n");
  store.drain();

  CHECK(store.stream(StreamKind::Session, "ses_1") == Lines{lines[0], lines[1], lines[2]});
  CHECK(store.facts("ses_1").prompts.size() == 1);
  CHECK(store.undrained() == 0);
}

TEST_CASE("notes of a run that never named a session are kept with its host", "[ingest][spool]") {
  SpooledStore store;
  const Lines lines = {
      start_note("run_a"), prompt_note("Do it."), end_note("run_a", "failed", kRunMs + 9)};
  const auto path = store.put("a", this_process(), true, recording_text("a", "run", lines));

  store.drain();

  CHECK_FALSE(fs::exists(path));
  CHECK(store.session_ids().empty());
  CHECK(store.stream(StreamKind::Host, "there") == lines);
}

TEST_CASE("what belongs to no session goes to the host it happened on", "[ingest][spool]") {
  SpooledStore store;
  const std::string noise = R"({"type":"server.connected","properties":{}})";
  const std::string idle = R"({"type":"session.idle","properties":{"sessionID":"ses_1"}})";
  const std::string words = "a line that is no JSON";
  store.put("a", this_process(), true, recording_text("a", "watch", {noise, idle, words}));

  const auto report = store.drain();

  CHECK(store.stream(StreamKind::Host, "there") == Lines{noise, words});
  CHECK(store.stream(StreamKind::Session, "ses_1") == Lines{idle});
  CHECK(report.counts.malformed == 1);
}

TEST_CASE("a recording says the same whether it is drained, read as a file, or through a pipe",
          "[ingest][spool]") {
  Lines lines = {start_note("run_a"), prompt_note("Do it."), clock_note(kRunMs + 2)};
  for (const auto& line :
       delivered_lines(read_file(data_path("captures/1.18.33/run/tool-multi-step-fix.ndjson"))))
    lines.push_back(line);
  lines.push_back(end_note("run_a", "completed", kRunMs + 9));
  const std::string text = recording_text("a", "run", lines);
  SpooledStore drained;
  drained.put("a", this_process(), true, text);
  drained.drain();
  const auto ingest = [&](TempStore& store, int file) {
    const auto recorder = value(Recorder::open(store.store()));
    Ingester ingester(*recorder, test_options());
    check(ingester.read(file, "mailed"));
    check(recorder->finish());
    ::close(file);
    CHECK(dump_model(store.reader()) == dump_model(drained.reader()));
    CHECK(store.raw_events() == drained.raw_events());
  };
  TempStore by_file;
  write_file(by_file.path() / "mailed", text);
  ingest(by_file, ::open((by_file.path() / "mailed").c_str(), O_RDONLY | O_CLOEXEC));
  TempStore by_pipe;
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  bool written = true;
  std::thread sender([&] {
    // Piece by piece, so that no read gets all of the mark.
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t size = std::min<std::size_t>(at < 100 ? 7 : 5000, text.size() - at);
      written &= ::write(ends[1], text.data() + at, size) == static_cast<ssize_t>(size);
      at += size;
    }
    ::close(ends[1]);
  });
  ingest(by_pipe, ends[0]);
  sender.join();

  CHECK(written);
  CHECK(drained.outcome_of(drained.session_ids().at(0), "run_a") == "completed");
}

TEST_CASE("a recording that cannot be read stays, is named, and keeps no other waiting",
          "[ingest][spool]") {
  SpooledStore store;
  const Lines bad = {"garbage\n", "", "{\"respool_recording\":1,\"id\":", "{}\n"};
  std::vector<fs::path> kept;
  for (std::size_t i = 0; i < bad.size(); ++i)
    kept.push_back(store.put("a" + std::to_string(i), dead_writer(), i % 2 == 0, bad[i]));
  kept.push_back(
      store.put("newer", this_process(), true, "{\"respool_recording\":2,\"id\":\"newer\"}\n{}\n"));
  store.put("z", this_process(), true, recording_text("z", "run", whole_run("z", "ses_1")));

  for (int again = 0; again < 2; ++again) {
    const auto report = store.drain();

    REQUIRE(report.broken.size() == kept.size());
    for (std::size_t i = 0; i < kept.size(); ++i) {
      CHECK(fs::exists(kept[i]));
      CHECK(report.broken[i].find(kept[i].string()) == 0);
    }
    CHECK(store.raw_events() == whole_run("z", "ses_1"));
  }
}

TEST_CASE("a line of any length is taken in whole", "[ingest][spool]") {
  SpooledStore store;
  const std::string giant = run_line("ses_1", 2, 3 << 20);
  const Lines lines = {run_line("ses_1", 1), giant, run_line("ses_1", 3)};
  const std::string text = recording_text("a", "run", lines);
  const std::string beginning = text.substr(0, 2 << 20);
  const auto path = store.put("a", this_process(), false, beginning);

  store.drain();
  CHECK(store.raw_events() == Lines{lines[0]});
  append_to(path, text.substr(beginning.size()));
  store.drain();

  CHECK((store.raw_events() == lines));
  CHECK(damage_of(store.store()).empty());
}

TEST_CASE("a drain that is stopped takes nothing away that it has not taken in",
          "[ingest][spool]") {
  SpooledStore store;
  const auto path =
      store.put("a", dead_writer(), false, recording_text("a", "run", {run_line("ses_1", 1)}));
  const std::atomic<bool> stop{true};

  const auto report = store.drain(&stop);

  CHECK(report.counts.interrupted);
  CHECK(fs::exists(path));
  CHECK(store.drain().counts.appended == 2);
  CHECK_FALSE(fs::exists(path));
}

TEST_CASE("lines that a recording lost are a gap of its session", "[ingest][spool]") {
  SpooledStore store;
  store.put("a",
            this_process(),
            true,
            recording_text(
                "a",
                "run",
                {run_line("ses_1", 1),
                 R"({"type":"respool.lost","timestamp":1796100000000,"records":3,"bytes":120})"}));

  store.drain();

  const auto problems = store.facts("ses_1").problems;
  REQUIRE(problems.size() == 1);
  CHECK(problems.begin()->second.detail.find("3 records of 120 bytes") == 0);
}

}  // namespace respool::test
