#include <catch2/catch.hpp>

#include "tests/cli/home.h"
#include "tests/support/fake_opencode.h"
#include "tests/support/small_export.h"

namespace respool::test {
namespace {

const SmallTurn kFirst{0, "The number is 7319.", "Noted."};
const SmallTurn kHere{1, "Go left.", "Left."};
const SmallTurn kThere{2, "Go right.", "Right."};
const SmallTurn kHereAgain{3, "Left again.", "Left."};

void take(const Home& home, const std::string& bytes) {
  const auto taken = home.run({"ingest", "-"}, bytes);
  INFO(taken.err);
  REQUIRE(taken.exit_code == 0);
}

std::string own_origin(const Home& home) {
  const auto line = home.run({"events", "--limit", "1", "--json"}).out;
  return json_field(line, "origin");
}

}  // namespace

TEST_CASE("where two stores recorded a session going on apart, a transcript follows one branch",
          "[cli][branch]") {
  const Home here;
  const Home there;
  take(here, small_export("/w", {kFirst, kHere, kHereAgain}));
  take(there, small_export("/w", {kFirst, kThere}));
  const auto origin_here = own_origin(here);
  const auto origin_there = own_origin(there);
  take(here, there.run({"export", kSmallSession}).out);

  const auto latest = here.run({"show", kSmallSession}).out;
  CHECK(latest.find("Left again.") != std::string::npos);
  CHECK(latest.find("Go right.") == std::string::npos);
  CHECK(latest.find("7319") != std::string::npos);
  const auto left = here.run({"show", kSmallSession, "--branch", origin_here}).out;
  CHECK(left.find("Go left.") != std::string::npos);
  CHECK(left.find("Go right.") == std::string::npos);
  CHECK(left.find("7319") != std::string::npos);
  const auto right = here.run({"replay", kSmallSession, "--branch", origin_there}).out;
  CHECK(right.find("| Go right.") != std::string::npos);
  CHECK(right.find("| Go left.") == std::string::npos);
  CHECK(right.find("| Left again.") == std::string::npos);
  CHECK(right.find("4 other_branch") != std::string::npos);
  CHECK(here.run({"gaps", "--json"}).out.find("\"kind\":\"diverged\"") != std::string::npos);
  // Four turns happened, and each is counted once.
  const auto usage = lines_of(here.run({"usage", "--json"}).out);
  CHECK(json_field(usage.back(), "steps") == "4");
  CHECK(here.run({"verify"}).exit_code == 0);
}

TEST_CASE("a session that went on where another store had it is no fork in the road",
          "[cli][branch]") {
  const Home here;
  const Home there;
  take(here, small_export("/w", {kFirst}));
  take(there, here.run({"export", kSmallSession}).out);
  take(there, small_export("/w", {kFirst, kHere, kThere}));
  take(here, there.run({"export", kSmallSession}).out);

  for (const auto* home : {&here, &there}) {
    const auto shown = home->run({"show", kSmallSession}).out;
    CHECK(shown.find("Go left.") != std::string::npos);
    CHECK(shown.find("Go right.") != std::string::npos);
    CHECK(home->run({"gaps", "--json"}).out.find("diverged") == std::string::npos);
  }
  CHECK(here.run({"replay", kSmallSession}).out == there.run({"replay", kSmallSession}).out);
}

}  // namespace respool::test
