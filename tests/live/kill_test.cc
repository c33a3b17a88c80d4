#include <algorithm>
#include <csignal>

#include <catch2/catch.hpp>

#include "tests/live/facts.h"
#include "tests/live/fixture.h"

namespace respool::test {
namespace {

using std::chrono::seconds;

constexpr seconds kTurnLimit{120};

// True once the model's bash tool has started what is to outlive it: `sleep 300`, in a session of
// its own.
bool sleeps(const LiveHome& home) {
  const std::string command(
      "sleep\0"
      "300",
      9);
  const auto asleep = processes_showing(command);
  const auto ours = processes_marked(home.path());
  return std::ranges::any_of(asleep,
                             [&](pid_t pid) { return std::ranges::find(ours, pid) != ours.end(); });
}

bool nothing_is_alive(const LiveHome& home) {
  constexpr seconds kLimit{5};
  return becomes_true(kLimit, [&] { return processes_marked(home.path()).empty(); });
}

std::vector<std::string> outcomes_of_runs(const LiveHome& home) {
  return column(home.ask({"events", "--type", "respool.run.ended", "--json", "--embed"}),
                "raw/outcome");
}

}  // namespace

TEST_CASE("a run that is killed leaves no process and loses no line", "[live]") {
  const LiveHome home;
  const auto run = home.start_respool({"run", "--json"}, "sleep long");
  REQUIRE(becomes_true(kTurnLimit, [&] { return sleeps(home); }));
  REQUIRE(becomes_true(kTurnLimit, [&] { return lines_of(run->out()).size() >= 2; }));

  run->send(SIGKILL);
  run->wait(kTurnLimit);

  CHECK(nothing_is_alive(home));
  const auto printed = lines_of(run->out());
  const auto sessions = home.ask({"sessions", "--json"});
  REQUIRE(sessions.size() == 1);
  CHECK(fs::is_empty(home.spool()));
  const auto lines =
      home.ask({"events", field(sessions[0], "session"), "--source", "run", "--raw"});
  REQUIRE(lines.size() >= printed.size());
  CHECK(std::equal(printed.begin(), printed.end(), lines.begin()));
  CHECK(outcomes_of_runs(home) == std::vector<std::string>{"aborted"});
  CHECK(home.respool({"verify"}).exit_code == 0);
}

TEST_CASE("a run that is killed after all it wrote was drained is still recorded as aborted",
          "[live]") {
  const LiveHome home;
  const auto run = home.start_respool({"run", "--json"}, "sleep long");
  REQUIRE(becomes_true(kTurnLimit, [&] { return sleeps(home); }));
  REQUIRE(becomes_true(kTurnLimit, [&] { return home.ask({"sessions", "--json"}).size() == 1; }));
  CHECK(outcomes_of_runs(home).empty());

  run->send(SIGKILL);
  run->wait(kTurnLimit);

  CHECK(outcomes_of_runs(home) == std::vector<std::string>{"aborted"});
  CHECK(fs::is_empty(home.spool()));
}

TEST_CASE("one interrupt ends a run and all that it started", "[live]") {
  const LiveHome home;
  const auto result = home.path() / "result";
  const auto run = home.start_respool({"run", "--result", result.string()}, "sleep long");
  REQUIRE(becomes_true(kTurnLimit, [&] { return sleeps(home); }));

  run->send(SIGINT);
  const auto ended = run->wait(kTurnLimit);

  CHECK(ended.exit_code == 130);
  CHECK(field(read_file(result), "outcome") == "aborted");
  CHECK(nothing_is_alive(home));
  CHECK(outcomes_of_runs(home) == std::vector<std::string>{"aborted"});
  CHECK(home.respool({"verify"}).exit_code == 0);
}

TEST_CASE("a reader that never reads does not stop the run", "[live]") {
  const LiveHome home;

  const auto run = home.start_respool({"run", "--json"}, "big output", Program::Output::DeafReader);

  REQUIRE(becomes_true(kTurnLimit, [&] { return !outcomes_of_runs(home).empty(); }));
  CHECK(outcomes_of_runs(home) == std::vector<std::string>{"completed"});
  CHECK(processes_marked(home.path()) == std::vector<pid_t>{run->pid()});
}

TEST_CASE("what a prompt says is on no command line and in no recorded one", "[live]") {
  const LiveHome home;
  const std::string secret = "correct-horse-battery-staple";
  std::size_t most_seen = 0;
  // OpenCode and its guard are the ones told in which format to answer.
  const auto told_opencode = [&] {
    auto seen = processes_showing(secret);
    const auto started = processes_showing("--format");
    std::erase_if(seen,
                  [&](pid_t pid) { return std::ranges::find(started, pid) == started.end(); });
    return seen.size();
  };
  const auto run_to_end = [&](const std::vector<std::string>& arguments, const std::string& input) {
    const auto run = home.start_respool(arguments, input);
    REQUIRE(becomes_true(kTurnLimit, [&] {
      // What the user himself wrote on respool's command line is there.
      const bool written = arguments.size() > 1;
      most_seen = std::max(most_seen, written ? told_opencode() : processes_showing(secret).size());
      return !run->running();
    }));
    CHECK(run->wait(kTurnLimit).exit_code == 0);
  };

  run_to_end({"run"}, "say hello " + secret);
  run_to_end({"run", "say hello " + secret}, "");

  CHECK(most_seen == 0);
  const auto starts = home.ask({"events", "--type", "respool.run.started", "--json", "--embed"});
  const auto prompts = home.ask({"events", "--type", "respool.prompt", "--json", "--embed"});
  REQUIRE(starts.size() == 2);
  REQUIRE(prompts.size() == 2);
  for (const auto& line : starts)
    CHECK(line.find(secret) == std::string::npos);
  for (const auto& line : prompts)
    CHECK(field(line, "raw/text").find(secret) != std::string::npos);
}

}  // namespace respool::test
