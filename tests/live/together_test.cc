#include <algorithm>
#include <csignal>

#include <catch2/catch.hpp>

#include "tests/live/facts.h"
#include "tests/live/fixture.h"

namespace respool::test {
namespace {

using std::chrono::seconds;

constexpr seconds kLimit{90};

// Every file below a folder with its bytes.
std::map<std::string, std::string> files_below(const fs::path& folder) {
  std::map<std::string, std::string> files;
  if (!fs::exists(folder)) return files;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    files[entry.path().string()] = entry.is_regular_file() ? read_file(entry.path()) : "folder";
  return files;
}

bool has_source(const LiveHome& home, const std::string& session, const std::string& source) {
  return !home.ask({"events", session, "--source", source, "--raw"}).empty();
}

}  // namespace

TEST_CASE("one session through run, plugin, watch and sync is counted once and has no gap",
          "[live]") {
  const LiveHome home;
  const auto configuration = files_below(home.path() / "config");
  home.ask({"plugin", "install"});
  CHECK(files_below(home.path() / "config") != configuration);
  home.ask({"plugin", "remove"});
  CHECK(files_below(home.path() / "config") == configuration);
  home.ask({"plugin", "install"});
  CHECK(field(home.ask({"plugin", "status", "--json"}).front(), "installed") == "true");
  const OpenCodeServer server(home);
  const auto watch = home.start_respool({"watch", server.url()});
  REQUIRE(
      becomes_true(kLimit, [&] { return watch->err().find("connected to") != std::string::npos; }));

  const auto run = run_prompt(home, "delegate");
  REQUIRE(run.outcome == "completed");
  home.ask({"sync"});
  // The server shares the database with the run's own process; its history tells of the session.
  const bool seen =
      becomes_true(kLimit, [&] { return has_source(home, run.session, "sync-history"); });
  watch->send(SIGINT);
  watch->wait(kLimit);

  CHECK(seen);
  for (const auto* source : {"run", "event", "sync-history", "database"}) {
    INFO(source);
    CHECK(has_source(home, run.session, source));
  }
  const auto lineage = column(home.ask({"lineage", run.session, "--json"}), "to");
  REQUIRE(lineage.size() == 1);
  for (const auto& session : {run.session, lineage.front()}) {
    INFO(session);
    home.ingest_export(session);
    check_same_facts(home, session, "all sources at once");
    CHECK(home.ask({"gaps", session, "--json"}).empty());
  }
  CHECK(home.respool({"verify"}).exit_code == 0);
}

TEST_CASE("the plugin records the subagents of a run that respool did not start", "[live]") {
  const LiveHome home;
  home.ask({"plugin", "install"});

  const auto turn = home.opencode({"run", "--format", "json", "--title", "t"}, "delegate");
  REQUIRE(turn.exit_code == 0);

  const auto sessions = home.ask({"sessions", "--json"});
  REQUIRE(sessions.size() == 2);
  for (const auto& session : column(sessions, "session")) {
    home.ingest_export(session);
    check_same_facts(home, session, "the plugin alone");
  }
  CHECK(fs::is_empty(home.spool()));

  home.ask({"plugin", "pause"});
  REQUIRE(home.opencode({"run", "--format", "json", "--title", "t"}, "say hello").exit_code == 0);
  CHECK(home.ask({"sessions", "--json"}).size() == 2);
}

}  // namespace respool::test
