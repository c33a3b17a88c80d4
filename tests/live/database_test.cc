#include <algorithm>
#include <csignal>
#include <map>

#include <catch2/catch.hpp>

#include "tests/live/facts.h"
#include "tests/live/fixture.h"

namespace respool::test {
namespace {

using std::chrono::seconds;

constexpr seconds kLimit{60};

// Every file of OpenCode's data folder with its bytes.
std::map<std::string, std::string> files_of(const LiveHome& home) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(home.opencode_data())) {
    if (entry.is_regular_file())
      files[entry.path().lexically_relative(home.opencode_data())] = read_file(entry.path());
  }
  return files;
}

std::vector<std::string> names_of(const std::map<std::string, std::string>& files) {
  std::vector<std::string> names;
  for (const auto& [name, bytes] : files)
    names.push_back(name);
  return names;
}

// A turn nobody records; returns its session.
std::string unseen_turn(const LiveHome& home, const std::string& prompt) {
  const auto turn = home.opencode({"run", "--format", "json"}, prompt);
  INFO(turn.out << turn.err);
  REQUIRE(turn.exit_code == 0);
  return field(lines_of(turn.out).front(), "sessionID");
}

void sync(const LiveHome& home) {
  const auto synced = home.respool({"sync"});
  INFO(synced.out << synced.err);
  REQUIRE(synced.exit_code == 0);
}

std::string events_in(const LiveHome& home) {
  return field(home.ask({"stats", "--json"}).front(), "events");
}

}  // namespace

TEST_CASE("a database of each OpenCode version says what its export says", "[live]") {
  for (const std::string version : {kOldestOpenCode, kMiddleOpenCode, kNewestOpenCode}) {
    INFO(version);
    const LiveHome home(version);
    const auto session = unseen_turn(home, "edit files");
    const auto before = files_of(home);

    sync(home);

    const bool untouched = files_of(home) == before;
    CHECK(untouched);
    home.ingest_export(session);
    check_same_facts(home, session, version);
    CHECK(home.respool({"verify"}).exit_code == 0);
  }
}

TEST_CASE("a sync beside a server at work brings all there is and touches nothing", "[live]") {
  const LiveHome home;
  const OpenCodeServer server(home);
  const auto parent = server.run("delegate");
  const auto before = files_of(home);

  sync(home);

  const auto after = files_of(home);
  CHECK(names_of(after) == names_of(before));
  CHECK(after.at("opencode.db") == before.at("opencode.db"));
  const auto events = events_in(home);
  sync(home);
  CHECK(events_in(home) == events);
  const auto children = column(home.ask({"lineage", parent, "--json"}), "to");
  REQUIRE(children.size() == 1);
  for (const auto& session : {parent, children.front()}) {
    home.ingest_export(session);
    check_same_facts(home, session, "beside a server");
  }
  CHECK(home.respool({"verify"}).exit_code == 0);
}

TEST_CASE("a database that a crash left is read as it is", "[live]") {
  const LiveHome home;
  const auto crashed = home.start_opencode({"run", "--format", "json"}, "slow text");
  const auto is_answering = [] {
    const auto asked = column(ScriptedModel::instance().requests(), "via");
    return std::ranges::find(asked, "slow text[0]") != asked.end();
  };
  REQUIRE(becomes_true(kLimit, is_answering));
  crashed->send(SIGKILL);
  crashed->wait(kLimit);
  const auto before = files_of(home);
  REQUIRE(before.at("opencode.db-wal").size() > 0);

  sync(home);

  const bool untouched = files_of(home) == before;
  CHECK(untouched);
  const auto sessions = home.ask({"sessions", "--json"});
  REQUIRE(sessions.size() == 1);
  const auto session = field(sessions.front(), "session");
  home.ingest_export(session);
  check_same_facts(home, session, "after a crash");
  CHECK(home.respool({"verify"}).exit_code == 0);
}

TEST_CASE("a session that OpenCode deleted stays in the store and counts as dead", "[live]") {
  const LiveHome home;
  const auto session = unseen_turn(home, "run a tool");
  sync(home);
  const auto facts = facts_of(home, WhichStore::First, session);
  const auto deleted = home.opencode({"session", "delete", session});
  INFO(deleted.out << deleted.err);
  REQUIRE(deleted.exit_code == 0);

  sync(home);

  const auto kept = facts_of(home, WhichStore::First, session);
  CHECK(kept.usage == facts.usage);
  CHECK(kept.tools == facts.tools);
  CHECK(kept.answers == facts.answers);
  CHECK(column(home.ask({"sessions", "--json"}), "state") == std::vector<std::string>{"dead"});
  CHECK(column(home.ask({"bindings", session, "--json"}), "state") ==
        std::vector<std::string>{"dead"});
  const auto events = events_in(home);
  sync(home);
  CHECK(events_in(home) == events);
}

}  // namespace respool::test
