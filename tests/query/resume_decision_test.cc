#include "query/replay/resume_decision.h"

#include <catch2/catch.hpp>

namespace respool::test {
namespace {

BindingLine bound(const std::string& host, const std::string& directory, const std::string& state) {
  BindingLine line;
  line.session = "ses_1";
  line.row.host = host;
  line.row.directory = directory;
  line.state = state;
  return line;
}

ResumeQuestion question(std::vector<BindingLine> bindings, const std::string& directory) {
  ResumeQuestion asked;
  asked.session = "ses_1";
  asked.bindings = std::move(bindings);
  asked.here = {"here", directory};
  return asked;
}

}  // namespace

TEST_CASE("a session that lives here goes on natively", "[query][resume]") {
  const auto decision = decide_resume(question({bound("here", "/work", "alive")}, "/work"));

  CHECK(decision.rung == Rung::Native);
  CHECK_FALSE(decision.needs_directory);
  CHECK(decision.stored == Place{"here", "/work"});
}

TEST_CASE("a folder below is another directory, and nobody guesses", "[query][resume]") {
  auto asked = question({bound("here", "/work", "alive")}, "/work/below");

  CHECK(decide_resume(asked).needs_directory);

  asked.directory_given = true;
  const auto decision = decide_resume(asked);
  CHECK_FALSE(decision.needs_directory);
  CHECK(decision.rung == Rung::Import);
  CHECK(decision.reason.find("/work") != std::string::npos);
}

TEST_CASE("a session of another host, a dead one and one without a home are imported",
          "[query][resume]") {
  auto elsewhere = question({bound("there", "/work", "unknown")}, "/work");
  CHECK(decide_resume(elsewhere).rung == Rung::Import);
  CHECK(decide_resume(elsewhere).reason.find("there") != std::string::npos);
  CHECK_FALSE(decide_resume(elsewhere).needs_directory);

  CHECK(decide_resume(question({bound("here", "/work", "dead")}, "/work")).rung == Rung::Import);
  CHECK(decide_resume(question({bound("here", "/work", "moved")}, "/work")).rung == Rung::Import);

  const auto homeless = decide_resume(question({}, "/work"));
  CHECK(homeless.rung == Rung::Import);
  CHECK_FALSE(homeless.stored);
  CHECK_FALSE(homeless.needs_directory);
}

TEST_CASE("the place that is here counts before one that was seen later", "[query][resume]") {
  const auto decision = decide_resume(question({bound("there", "/later", "unknown"),
                                                bound("here", "/other", "alive"),
                                                bound("here", "/work", "alive")},
                                               "/work"));

  CHECK(decision.rung == Rung::Native);
}

TEST_CASE("a part of a session cannot go on in place", "[query][resume]") {
  auto asked = question({bound("here", "/work", "alive")}, "/work");
  asked.part_of_it = true;

  CHECK(decide_resume(asked).rung == Rung::Import);
}

TEST_CASE("a rung that was asked for is taken where it can work", "[query][resume]") {
  auto asked = question({bound("here", "/work", "alive")}, "/work");
  asked.asked = Rung::Prefix;
  CHECK(decide_resume(asked).rung == Rung::Prefix);
  CHECK_FALSE(decide_resume(asked).impossible);

  auto elsewhere = question({bound("there", "/work", "unknown")}, "/work");
  elsewhere.asked = Rung::Native;
  CHECK(decide_resume(elsewhere).impossible);
}

}  // namespace respool::test
