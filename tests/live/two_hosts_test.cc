#include <catch2/catch.hpp>

#include "tests/live/facts.h"
#include "tests/live/fixture.h"

namespace respool::test {
namespace {

std::string heads(const LiveHome& home) {
  const auto report = home.respool({"verify", "--report"});
  INFO(report.out << report.err);
  REQUIRE(report.exit_code == 0);
  return report.out;
}

// Takes everything of one store into the other.
void carry(const LiveHome& from, const LiveHome& to) {
  const auto bundle = (from.path() / "all.bundle").string();
  REQUIRE(from.respool({"export", "--all", "--output", bundle, "--force"}).exit_code == 0);
  const auto taken = to.respool({"ingest", bundle});
  INFO(taken.err);
  REQUIRE(taken.exit_code == 0);
}

std::string total_steps(const LiveHome& home) {
  return field(home.ask({"usage", "--json"}).back(), "steps");
}

}  // namespace

TEST_CASE("a session of one host goes on on another, and both go on with it", "[live][resume]") {
  LiveHome a;
  LiveHome b;
  a.environment()["RESPOOL_HOST"] = "host-a";
  b.environment()["RESPOOL_HOST"] = "host-b";
  const auto session = run_prompt(a, "Keep this number: 7319").session;
  run_prompt(a, "run a tool", {"--session", session});
  a.ask({"sync"});
  const auto bundle = (a.path() / "work.bundle").string();
  REQUIRE(a.respool({"export", session, "--output", bundle}).exit_code == 0);
  REQUIRE(b.respool({"ingest", bundle}).exit_code == 0);

  const auto resumed =
      b.respool({"resume", session, "--dir", b.work().string()}, "do you remember");
  INFO(resumed.err);
  CHECK(resumed.exit_code == 0);
  CHECK(resumed.err.find("by import") != std::string::npos);
  CHECK(resumed.err.find("host-a") != std::string::npos);
  const auto edges = b.ask({"lineage", "--json"});
  REQUIRE(edges.size() == 1);
  const auto there = field(edges[0], "to");
  const auto request = last_request(there);
  CHECK(request.find("7319") != std::string::npos);
  CHECK(request.find("one\\ntwo") != std::string::npos);
  CHECK(request.find(a.work().string()) != std::string::npos);
  CHECK(request.find(b.work().string()) != std::string::npos);

  const auto at_home = a.respool({"resume", session}, "do you remember");
  CHECK(at_home.exit_code == 0);
  CHECK(at_home.err.find("by native") != std::string::npos);

  carry(b, a);
  carry(a, b);
  CHECK(total_steps(a) == "5");
  CHECK(total_steps(b) == "5");
  const auto before = heads(a);
  CHECK(before == heads(b));
  carry(b, a);
  CHECK(heads(a) == before);
  for (const auto* home : {&a, &b}) {
    CHECK(home->respool({"verify"}).exit_code == 0);
    CHECK(field(home->ask({"sessions", there, "--json"}).front(), "resumed_from") == session);
  }
}

}  // namespace respool::test
