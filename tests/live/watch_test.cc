#include <algorithm>
#include <csignal>
#include <random>

#include <catch2/catch.hpp>

#include "tests/live/facts.h"
#include "tests/live/fixture.h"
#include "tests/support/cutting_proxy.h"

namespace respool::test {
namespace {

using std::chrono::seconds;

constexpr seconds kLimit{60};

std::unique_ptr<RunningProgram> start_watch(const LiveHome& home,
                                            const std::string& url,
                                            const std::vector<std::string>& flags = {}) {
  std::vector<std::string> words = {"watch", url};
  words.insert(words.end(), flags.begin(), flags.end());
  auto watch = home.start_respool(words);
  const bool connected =
      becomes_true(kLimit, [&] { return watch->err().find("connected to") != std::string::npos; });
  INFO(watch->err());
  REQUIRE(connected);
  return watch;
}

void stop_watch(RunningProgram& watch) {
  watch.send(SIGINT);
  CHECK(watch.wait(kLimit).exit_code == 130);
}

std::string child_of(const LiveHome& home, const std::string& session) {
  const auto children = column(home.ask({"lineage", session, "--json"}), "to");
  REQUIRE(children.size() == 1);
  return children.front();
}

void check_no_sequence_gap(const std::vector<std::string>& gaps) {
  const auto kinds = column(gaps, "kind");
  CHECK(std::ranges::find(kinds, "sequence_gap") == kinds.end());
}

// Where a stream is cut. Its answer's head has some 300 bytes and the first event 100; a cut later
// than that waits for the agent to work.
std::vector<std::size_t> cut_points(unsigned seed) {
  constexpr std::size_t kCuts = 50;
  std::mt19937 random(seed);
  std::vector<std::size_t> cuts;
  while (cuts.size() < kCuts)
    cuts.push_back(cuts.size() % 2 == 0 ? 300 + random() % 150 : 400 + random() % 4000);
  return cuts;
}

}  // namespace

TEST_CASE("a watch records what OpenCode exports, of subagents too, and who permitted it",
          "[live]") {
  const LiveHome home(kNewestOpenCode, R"({"bash":{"*":"allow","echo permitted*":"ask"}})");
  const OpenCodeServer server(home);
  const auto watch = start_watch(home, server.url());

  const auto parent = server.run("delegate");
  const auto edited = server.run("edit files");
  const auto refused = server.run_attached("ask permission");
  const auto reply = [&] { return column(home.ask({"permissions", refused, "--json"}), "reply"); };
  CHECK(becomes_true(kLimit, [&] { return reply() == std::vector<std::string>{"reject"}; }));
  const auto child = child_of(home, parent);
  for (const auto& session : {parent, child, edited, refused})
    wait_for_export(home, session);
  stop_watch(*watch);

  for (const auto& session : {parent, child, edited, refused}) {
    check_same_facts(home, session, "watched");
    check_no_sequence_gap(home.ask({"gaps", session, "--json"}));
  }
  CHECK(home.respool({"verify"}).exit_code == 0);
}

TEST_CASE("a watch whose connection is cut fifty times knows what an uncut one knows", "[live]") {
  constexpr unsigned kSeed = 20261201;
  const LiveHome home;
  const OpenCodeServer server(home);
  CuttingProxy proxy(server.port(), "/global/event", cut_points(kSeed));
  const std::vector<std::string> second = {"--store", home.second_store().string()};
  const auto uncut = start_watch(home, server.url());
  const auto cut = start_watch(home, proxy.url(), second);

  std::vector<std::string> sessions;
  const auto all_cut = [&] { return proxy.cuts_made() == cut_points(kSeed).size(); };
  const std::vector<std::string> prompts = {"delegate", "slow text", "many steps"};
  constexpr std::size_t kMostTurns = 30;
  while (!all_cut() && sessions.size() < kMostTurns)
    sessions.push_back(server.run(prompts[sessions.size() % prompts.size()]));
  sessions.push_back(server.run("edit files"));
  sessions.push_back(child_of(home, sessions.front()));
  const std::string last = server.run("say hello");
  becomes_true(kLimit, [&] {
    return facts_of(home, WhichStore::First, last).answers ==
           facts_of(home, WhichStore::Second, last).answers;
  });
  stop_watch(*uncut);
  stop_watch(*cut);

  INFO("seed " << kSeed << ", " << proxy.cuts_made() << " cuts, " << sessions.size()
               << " sessions");
  CHECK(all_cut());
  for (const auto& session : sessions) {
    check_same_facts(home, session, "cut");
    check_no_sequence_gap(home.ask_second({"gaps", session, "--json"}));
  }
  CHECK(home.respool({"verify"}).exit_code == 0);
  CHECK(home.respool({"verify", "--store", home.second_store().string()}).exit_code == 0);
}

}  // namespace respool::test
