#include <catch2/catch.hpp>

#include "tests/cli/home.h"
#include "tests/support/fake_opencode.h"

namespace respool::test {
namespace {

const std::string kForever = "while :; do sleep 1; done";
const std::string kNotFound =
    "printf '\\033[91m\\033[1mError: \\033[0mSession not found\\n' >&2; exit 1";

std::string capture(const std::string& name) {
  return read_file(data_path("captures/" + name + ".ndjson"));
}

// The first lines of a capture, the last step's end told anew.
std::string text_that_ends_with(const std::string& reason) {
  std::string lines = capture("1.18.33/run/text-simple");
  const std::string stop = "\"reason\":\"stop\"";
  return lines.replace(lines.rfind(stop), stop.size(), "\"reason\":\"" + reason + "\"");
}

std::string session_of(const std::string& lines) {
  return json_field(lines_of(lines).front(), "sessionID");
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("how a run ended is found from all it printed and how its process ended", "[cli][run]") {
  struct Case {
    std::string name;
    std::string out;
    std::string end;
    std::string outcome;
  };
  const auto aborted = capture("1.18.33/run/interrupted-sigint");
  const std::vector<Case> cases = {
      {"a text", capture("1.18.33/run/text-simple"), "exit 0", "completed"},
      {"a text, 1.1", capture("1.1.65/run/text-simple"), "exit 0", "completed"},
      {"an empty answer", capture("1.18.33/run/text-empty-answer"), "exit 0", "completed"},
      {"a withheld tool", capture("1.18.33/run/denied-bash"), "exit 0", "completed"},
      {"a refused plan", capture("1.18.33/run/plan-agent"), "exit 0", "completed"},
      {"a refusal", capture("1.18.33/run/ask-auto-rejected"), "exit 0", "blocked"},
      {"a refusal, 1.17", capture("1.17.11/run/ask-auto-rejected"), "exit 0", "blocked"},
      {"a directory", capture("1.18.33/run/external-directory"), "exit 0", "blocked"},
      {"a bad key", capture("1.18.33/run/error-401"), "exit 1", "failed"},
      {"a bad key, 1.1", capture("1.1.65/run/error-401"), "exit 1", "failed"},
      {"no such model", capture("1.18.33/run/error-unknown-model"), "exit 1", "failed"},
      {"a filter's error", capture("1.18.33/run/error-content-filter"), "exit 1", "failed"},
      {"a bad exit", capture("1.18.33/run/text-simple"), "exit 7", "failed"},
      {"no message", "", "exit 1", "failed"},
      {"a crash", capture("1.18.33/run/text-simple"), "kill -SEGV $$", "failed"},
      {"too long",
       capture("1.18.33/run/error-context-overflow"),
       "exit 1",
       "retried_and_completed"},
      {"a cut stream", capture("1.18.33/run/error-stream-cut"), "exit 0", "retried_and_completed"},
      {"the limit", text_that_ends_with("length"), "exit 0", "incomplete"},
      {"the filter", text_that_ends_with("content-filter"), "exit 0", "incomplete"},
      {"tools only", text_that_ends_with("tool-calls"), "exit 0", "incomplete"},
      {"a new reason", text_that_ends_with("brand-new"), "exit 0", "incomplete"},
      {"a broken stream", capture("1.18.33/run/error-stream-event"), "exit 0", "truncated"},
      {"an open step", aborted, "exit 0", "truncated"},
      {"no line at all", "", "exit 0", "truncated"},
      {"its own interrupt", aborted, "kill -INT $$", "aborted"},
      {"its own end", capture("1.18.33/run/interrupted-sigterm"), "kill -TERM $$", "aborted"},
      {"its own kill", capture("1.18.33/run/interrupted-sigkill"), "kill -KILL $$", "aborted"},
  };
  FakeOpenCode fake;
  for (const auto& expected : cases) {
    INFO(expected.name);
    fake.prints(expected.out, expected.end);

    const auto result = fake.run({});

    CHECK(fake.outcome() == expected.outcome);
    CHECK(result.exit_code == (expected.outcome == "completed" ? 0 : 1));
    const bool by_signal = expected.end.starts_with("kill");
    CHECK(fake.result("exit").empty() == by_signal);
    CHECK(fake.result("signal").empty() == !by_signal);
    if (!expected.out.empty()) CHECK(fake.result("session") == session_of(expected.out));
    const auto ends = events_of(fake.respool({"events", "--raw"}).out, "respool.run.ended");
    REQUIRE_FALSE(ends.empty());
    CHECK(json_field(ends.back(), "outcome") == expected.outcome);
  }
}

TEST_CASE("a session that is gone is told from a run that failed", "[cli][run]") {
  FakeOpenCode fake;
  fake.does(kNotFound);

  CHECK(fake.run({"--session", "ses_gone"}).exit_code == 1);
  CHECK(fake.outcome() == "resume_dead");
  CHECK(fake.run({}).exit_code == 1);
  CHECK(fake.outcome() == "failed");
}

TEST_CASE("a key continues its session, and starts a new one where that is gone", "[cli][run]") {
  FakeOpenCode fake;
  const std::string first = capture("1.18.33/run/text-simple");
  const std::string second = capture("1.18.33/run/tool-bash");
  const std::string third = capture("1.18.33/run/unicode");

  fake.prints(first);
  REQUIRE(fake.run({"--key", "chat"}).exit_code == 0);
  CHECK_FALSE(contains(fake.seen("argv"), "--session"));
  REQUIRE(fake.run({"--key", "chat"}).exit_code == 0);
  CHECK(contains(fake.seen("argv"), "--session\n" + session_of(first) + "\n"));
  fake.prints(second);
  REQUIRE(fake.run({"--key", "other"}).exit_code == 0);
  CHECK_FALSE(contains(fake.seen("argv"), "--session"));

  fake.prints(third);
  fake.does("case \"$*\" in *--session*) " + kNotFound + ";; esac; cat \"$LAB/out\"");
  const auto result = fake.run({"--key", "chat"});

  CHECK(result.exit_code == 0);
  CHECK(contains(result.err, "session " + session_of(first) + " of key chat is gone"));
  CHECK(fake.result("session") == session_of(third));
  fake.prints(third);
  REQUIRE(fake.run({"--key", "chat"}).exit_code == 0);
  CHECK(contains(fake.seen("argv"), "--session\n" + session_of(third) + "\n"));
}

TEST_CASE("a run that prints nothing, nothing more, or never ends is ended by its earliest limit",
          "[cli][run]") {
  struct Case {
    std::string script;
    std::vector<std::string> limits;  // startup, idle, turn
    std::string outcome;
  };
  const std::string line = R"({"type":"step_start","timestamp":1,"sessionID":"ses_1","part":{}})";
  const std::string once = "echo '" + line + "'; " + kForever;
  const std::string often = "while :; do echo '" + line + "'; sleep 0.1; done";
  const std::vector<Case> cases = {
      {kForever, {"1", "300", "300"}, "startup_timeout"},
      {kForever, {"300", "1", "300"}, "idle_timeout"},
      {kForever, {"300", "300", "1"}, "turn_timeout"},
      {kForever, {"0", "0", "1"}, "turn_timeout"},
      {once, {"60", "2", "300"}, "idle_timeout"},
      {once, {"300", "300", "1"}, "turn_timeout"},
      {often, {"60", "60", "3"}, "turn_timeout"},
  };
  FakeOpenCode fake;
  for (const auto& expected : cases) {
    INFO(expected.script << " " << expected.limits[0] << " " << expected.limits[1] << " "
                         << expected.limits[2]);
    fake.does(expected.script);

    const auto result = fake.run({"--startup-timeout",
                                  expected.limits[0],
                                  "--idle-timeout",
                                  expected.limits[1],
                                  "--turn-timeout",
                                  expected.limits[2]});

    CHECK(result.exit_code == 1);
    CHECK(fake.outcome() == expected.outcome);
    CHECK(contains(result.err, expected.outcome));
  }
  fake.does(kForever);
  fake.run({}, "Do it.\n", {{"OPENCODE_IDLE_TIMEOUT_SECONDS", "0.5"}});
  CHECK(fake.outcome() == "idle_timeout");
  fake.run({}, "Do it.\n", {{"OPENCODE_TURN_TIMEOUT_SECONDS", "0.5"}});
  CHECK(fake.outcome() == "turn_timeout");
}

TEST_CASE("a run that hangs while it continues a session names the session and its directory",
          "[cli][run]") {
  FakeOpenCode fake;
  const std::string lines = capture("1.18.33/run/text-simple");
  fake.prints(lines);
  REQUIRE(fake.run({}).exit_code == 0);
  fake.does(kForever);

  const auto silent = fake.run({"--session", session_of(lines), "--startup-timeout", "1"});

  CHECK(fake.outcome() == "startup_timeout");
  for (const auto& text : {silent.err, fake.result("reason")}) {
    CHECK(contains(text, session_of(lines)));
    CHECK(contains(text, fake.work().string()));
  }
  fake.run({"--session", "ses_unheard_of", "--idle-timeout", "1"});
  CHECK(fake.outcome() == "idle_timeout");
  CHECK(contains(fake.result("reason"), "ses_unheard_of"));
}

TEST_CASE("a session of another directory is not continued here", "[cli][run]") {
  FakeOpenCode fake;
  const std::string lines = capture("1.18.33/run/text-simple");
  fake.prints(lines);
  REQUIRE(fake.run({}).exit_code == 0);
  const auto other = fake.home() / "other";
  fs::create_directories(other);
  fs::remove(fake.lab() / "argv");

  const auto result = fake.run({"--dir", other.string(), "--session", session_of(lines)});

  CHECK(result.exit_code == 2);
  CHECK(contains(result.err, session_of(lines)));
  CHECK(contains(result.err, "respool run --dir " + fake.work().string()));
  CHECK_FALSE(fake.was_started());
}

TEST_CASE("a model that calls withheld tools again and again is stopped", "[cli][run]") {
  FakeOpenCode fake;
  fake.prints(capture("1.18.33/run/denied-then-spins"), kForever);

  const auto result = fake.run({"--max-withheld", "4"});

  CHECK(result.exit_code == 1);
  CHECK(fake.outcome() == "blocked");
  CHECK(contains(fake.result("reason"), "withheld"));
  fake.run({"--max-withheld", "0", "--idle-timeout", "1"});
  CHECK(fake.outcome() == "idle_timeout");
  // Calls that are not withheld part them: none are in a row.
  fake.prints(capture("1.18.33/run/denied-bash-then-write"), "exit 0");
  CHECK(fake.run({"--max-withheld", "2"}).exit_code == 0);
}

TEST_CASE("a context that is compacted again and again is stopped", "[cli][run]") {
  FakeOpenCode fake;
  std::string lines;
  for (int i = 0; i < 3; ++i) {
    const std::string at = std::to_string(i);
    lines += R"({"type":"text","timestamp":1796070388308,"sessionID":"ses_1","part":{"id":"prt_)" +
             at + R"(","messageID":"msg_)" + at +
             R"(","sessionID":"ses_1","type":"text","metadata":{"compaction_continue":true},)"
             R"("synthetic":true,"text":"Continue if you have next steps."}})"
             "\n";
  }
  fake.prints(lines, kForever);

  const auto result = fake.run({"--max-compactions", "3"});

  CHECK(result.exit_code == 1);
  CHECK(fake.outcome() == "incomplete");
  CHECK(contains(fake.result("reason"), "compacted 3 times"));
  fake.run({"--max-compactions", "4", "--idle-timeout", "1"});
  CHECK(fake.outcome() == "idle_timeout");
}

TEST_CASE("a tool call refused for want of anybody to ask shows in permissions", "[cli][run]") {
  FakeOpenCode fake;
  const std::string lines = capture("1.18.33/run/ask-auto-rejected");
  fake.prints(lines,
              "printf '\\033[93m\\033[1m! \\033[0mpermission requested: bash "
              "(git log -1 --oneline); auto-rejecting\\n' >&2");

  const auto result = fake.run({});

  const std::string plain = "! permission requested: bash (git log -1 --oneline); auto-rejecting";
  CHECK(contains(result.err, plain));
  CHECK_FALSE(contains(result.err, "\x1b"));
  const auto recorded = events_of(fake.respool({"events", "--raw"}).out, "respool.run.stderr");
  REQUIRE(recorded.size() == 1);
  CHECK(json_field(recorded[0], "text") ==
        "\x1b[93m\x1b[1m! \x1b[0mpermission requested: bash (git log -1 --oneline); "
        "auto-rejecting");
  const auto refusals = lines_of(fake.respool({"permissions", "--json"}).out);
  REQUIRE(refusals.size() == 1);
  CHECK(json_field(refusals[0], "session") == session_of(lines));
  CHECK(json_field(refusals[0], "permission") == "bash");
  CHECK(json_field(refusals[0], "patterns") == R"(["git log -1 --oneline"])");
  CHECK(json_field(refusals[0], "reply") == "reject");
}

}  // namespace respool::test
