#include <algorithm>
#include <csignal>
#include <system_error>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "tests/live/facts.h"
#include "tests/live/fixture.h"

namespace respool::test {
namespace {

using std::chrono::seconds;

constexpr seconds kLimit{400};

// True while a process writes the store, as one does that drains the spool.
bool writes_store(const LiveHome& home, pid_t pid) {
  const auto lock = home.path() / "data" / "respool" / "db" / "LOCK";
  std::error_code error;
  for (fs::directory_iterator entry(fmt::format("/proc/{}/fd", pid), error), end;
       !error && entry != end;
       entry.increment(error)) {
    std::error_code gone;
    if (fs::read_symlink(entry->path(), gone) == lock) return true;
  }
  return false;
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error))
    names.push_back(entry->path().filename());
  std::ranges::sort(names);
  return names;
}

// What a run printed is in the log, whole and in this order. Where it was killed its last line may
// be cut, and the log may have more.
void check_lines(const LiveHome& home, const RunningProgram& run, bool was_killed) {
  auto printed = lines_of(run.out());
  if (was_killed && !printed.empty() && !run.out().ends_with('\n')) printed.pop_back();
  REQUIRE_FALSE(printed.empty());
  const std::string session = field(printed.front(), "sessionID");
  INFO(session << " " << run.err());
  const auto logged = home.ask({"events", session, "--source", "run", "--raw"});
  REQUIRE(logged.size() >= printed.size());
  CHECK(std::equal(printed.begin(), printed.end(), logged.begin()));
  if (!was_killed) CHECK(logged.size() == printed.size());
}

}  // namespace

TEST_CASE("sixteen runs and a watch on one store lose no line, whoever is killed", "[live]") {
  constexpr int kRuns = 16;
  const LiveHome home;
  home.opencode({"session", "list"});  // makes the database before all want to
  const OpenCodeServer server(home);
  const auto watch = home.start_respool({"watch", server.url()});
  std::vector<std::unique_ptr<RunningProgram>> runs;
  for (int i = 1; i <= kRuns; ++i)
    runs.push_back(home.start_respool({"run", "--json"}, fmt::format("say hello {}", i)));
  const auto victim = home.start_respool({"run", "--json"}, "sleep long");

  // Whenever the spool changes somebody drains it, and three of them are killed while they do.
  std::size_t killed_drains = 0;
  std::vector<std::string> seen;
  const bool all_ended = becomes_true(kLimit, [&] {
    if (lines_of(victim->out()).size() >= 2) victim->send(SIGKILL);
    const bool over = !victim->running() &&
                      std::ranges::all_of(runs, [](const auto& run) { return !run->running(); });
    const auto waiting = names_in(home.spool());
    if (over || waiting == seen) return over;
    seen = waiting;
    const auto drain = home.start_respool({"sessions"});
    becomes_true(kLimit, [&] {
      if (killed_drains < 3 && writes_store(home, drain->pid())) {
        drain->send(SIGKILL);
        ++killed_drains;
      }
      return !drain->running();
    });
    return false;
  });
  REQUIRE(all_ended);
  const std::string watched = server.run("edit files");
  wait_for_export(home, watched);
  watch->send(SIGINT);
  watch->wait(kLimit);
  home.ask({"sessions"});

  CHECK(killed_drains > 0);
  CHECK(names_in(home.spool()) == std::vector<std::string>());
  for (const auto& run : runs) {
    INFO(run->err());
    CHECK(run->wait(kLimit).exit_code == 0);
    check_lines(home, *run, false);
  }
  check_lines(home, *victim, true);
  check_same_facts(home, watched, "edit files, watched");
  CHECK(home.respool({"verify"}).exit_code == 0);
}

}  // namespace respool::test
