#include <algorithm>

#include <catch2/catch.hpp>

#include "tests/live/facts.h"
#include "tests/live/fixture.h"

namespace respool::test {
namespace {

std::size_t count_of(const std::string& text, const std::string& word) {
  std::size_t count = 0;
  for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + 1))
    ++count;
  return count;
}

// The states of a session's bindings, one each.
std::vector<std::string> states_of(const LiveHome& home, const std::string& session) {
  return column(home.ask({"bindings", session, "--json"}), "state");
}

}  // namespace

TEST_CASE("a key continues its session, and starts a new one where that is deleted", "[live]") {
  const LiveHome home;
  const std::string notice = "is gone; a new one is started";

  const auto first = run_prompt(home, "say hello", {"--key", "chat"});
  const auto second = run_prompt(home, "do you remember", {"--key", "chat"});
  const auto deleted = home.opencode({"session", "delete", first.session});
  const auto third = run_prompt(home, "do you remember", {"--key", "chat"});

  CHECK(first.process.exit_code == 0);
  CHECK(second.process.exit_code == 0);
  CHECK(second.session == first.session);
  CHECK(second.process.out.find("You asked me to say hello.") != std::string::npos);
  CHECK(count_of(second.process.err, notice) == 0);
  INFO(deleted.out << deleted.err);
  REQUIRE(deleted.exit_code == 0);
  INFO(third.process.err);
  CHECK(third.process.exit_code == 0);
  CHECK(third.session != first.session);
  CHECK(third.process.out.find("This is the first thing you say.") != std::string::npos);
  CHECK(count_of(third.process.err, notice) == 1);
  CHECK(states_of(home, first.session) == std::vector<std::string>{"dead"});
  CHECK(states_of(home, third.session) == std::vector<std::string>{"alive"});
  const auto bindings = home.ask({"bindings", third.session, "--json"});
  CHECK(field(bindings.front(), "key") == "chat");
  CHECK(home.respool({"verify"}).exit_code == 0);
}

TEST_CASE("a session of another directory is refused before OpenCode starts", "[live]") {
  const LiveHome home;
  const auto elsewhere = home.path() / "elsewhere";
  fs::create_directories(elsewhere);
  const auto first = run_prompt(home, "say hello");
  const auto requests = ScriptedModel::instance().requests().size();

  const auto refused =
      home.respool({"run", "--dir", elsewhere.string(), "-s", first.session}, "say hello");

  INFO(refused.err);
  CHECK(refused.exit_code == 2);
  CHECK(refused.err.find(home.work().string()) != std::string::npos);
  CHECK(refused.err.find(elsewhere.string()) != std::string::npos);
  CHECK(ScriptedModel::instance().requests().size() == requests);
  CHECK(home.ask({"events", "--type", "respool.run.started", "--raw"}).size() == 1);
}

}  // namespace respool::test
