#include <algorithm>

#include <catch2/catch.hpp>

#include "tests/live/facts.h"
#include "tests/live/fixture.h"

namespace respool::test {
namespace {

bool has(const std::vector<std::string>& texts, const std::string& text) {
  return std::ranges::find(texts, text) != texts.end();
}

struct Prompt {
  std::string text;
  std::vector<std::string> flags = {};
  std::string outcome = "completed";
  // Whether OpenCode printed that a step began before its stream was cut is a matter of moments.
  std::string or_outcome = {};
};

// Runs it, takes OpenCode's own export into the second store, and compares.
RunReport check_run(const LiveHome& home, const Prompt& prompt) {
  INFO(prompt.text);
  auto report = run_prompt(home, prompt.text, prompt.flags);
  INFO(report.result << report.process.err);
  const bool as_told = report.outcome == prompt.outcome || report.outcome == prompt.or_outcome;
  CHECK(as_told);
  const bool ended_well = report.outcome == "completed";
  CHECK(report.process.exit_code == (ended_well ? 0 : 1));
  REQUIRE_FALSE(report.session.empty());
  home.ingest_export(report.session);
  check_same_facts(home, report.session, prompt.text);
  return report;
}

std::vector<std::string> kinds_of_gaps(const LiveHome& home, const std::string& session) {
  return column(home.ask({"gaps", session, "--json"}), "kind");
}

// A red dot.
const std::string kPng(
    "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x02\0\0\0\x90wS\xde\0\0\0\x0cIDATx\x9c"
    "c\xf8\xcf\xc0\0\0\x03\x01\x01\0\xc9\xfe\x92\xef\0\0\0\0IEND\xae"
    "B`\x82",
    69);

}  // namespace

TEST_CASE("what a run shows of texts is what OpenCode exports", "[live]") {
  const LiveHome home;
  write_file(home.work() / "note.txt", "a text file\n");
  write_file(home.work() / "dot.png", kPng);

  check_run(home, {"say hello"});
  const auto thought = check_run(home, {"think", {"--thinking"}});
  const auto reasons = home.ask({"show", thought.session, "--json"});
  check_run(home, {"look at files", {"-f", "note.txt", "-f", "dot.png"}});
  check_run(home, {"strange characters \u6f22\u5b57 \U0001f680 [\u2028] [\ufeff] \u001b[31m"});

  CHECK(has(column(reasons, "kind"), "reasoning"));
  CHECK(home.respool({"verify"}).exit_code == 0);
}

TEST_CASE("an answer of a megabyte reaches the reader and the log whole", "[live]") {
  const LiveHome home;

  const auto report = check_run(home, {"big output", {"--json"}});

  CHECK(report.process.out.size() > (1U << 20));
  const bool log_has_the_same = lines_of(report.process.out) ==
                                home.ask({"events", report.session, "--source", "run", "--raw"});
  CHECK(log_has_the_same);
}

TEST_CASE("what a run shows of tools is what OpenCode exports", "[live]") {
  const LiveHome home;

  const auto edit = check_run(home, {"edit files"});
  check_run(home, {"two tools at once"});
  const auto parent = check_run(home, {"delegate"});
  const auto long_output = check_run(home, {"big tool output"});

  CHECK(column(home.ask({"files", edit.session, "--json"}), "action") ==
        std::vector<std::string>{"write", "read", "edit"});
  CHECK(column(home.ask({"lineage", parent.session, "--json"}), "kind") ==
        std::vector<std::string>{"child"});
  CHECK_FALSE(has(kinds_of_gaps(home, long_output.session), "output_file_missing"));
  const auto saved = home.ask({"events", long_output.session, "--source", "output-file", "--raw"});
  REQUIRE(saved.size() >= 200'000);
  CHECK(saved.front() == "1");
  CHECK(saved[199'999] == "200000");
  CHECK(home.respool({"verify"}).exit_code == 0);
}

TEST_CASE("a run that is compacted or repeated shows every step that OpenCode exports", "[live]") {
  const LiveHome home;

  const auto compacted = check_run(home, {"overflow"});
  const auto cut = check_run(home, {"cut the stream", {}, "retried_and_completed", "completed"});
  const auto busy = check_run(home, {"busy once"});

  CHECK(has(column(home.ask({"show", compacted.session, "--json"}), "text"),
            "The context was compacted."));
  CHECK(has(column(home.ask({"show", cut.session, "--json"}), "text"), "This sentence is whole."));
  CHECK(field(home.ask({"sessions", busy.session, "--json"}).front(), "steps") == "1");
}

TEST_CASE("a run whose provider refuses fails and says so", "[live]") {
  const LiveHome home;

  const auto report = check_run(home, {"bad key", {}, "failed"});

  CHECK(report.process.err.find("The key is wrong.") != std::string::npos);
  CHECK(has(column(home.ask({"show", report.session, "--json"}), "text"), "The key is wrong."));
}

TEST_CASE("a permission that nobody can give blocks the run and is recorded as refused", "[live]") {
  const LiveHome home(kNewestOpenCode, R"({"bash":"ask"})");

  const auto report = check_run(home, {"ask permission", {}, "blocked"});

  const auto asked = home.ask({"permissions", report.session, "--json"});
  REQUIRE(asked.size() == 1);
  CHECK(field(asked.front(), "reply") == "reject");
  CHECK(field(asked.front(), "by") == "run");
  CHECK(column(home.ask({"tools", report.session, "--json"}), "outcome") ==
        std::vector<std::string>{"refused"});
}

TEST_CASE("a tool that the configuration denies is recorded as withheld", "[live]") {
  const LiveHome home(kNewestOpenCode, R"({"bash":"deny"})");

  const auto report = check_run(home, {"denied tool"});

  CHECK(column(home.ask({"tools", report.session, "--json"}), "outcome") ==
        std::vector<std::string>{"withheld"});
  CHECK_FALSE(fs::exists(home.work() / "forbidden.txt"));
}

}  // namespace respool::test
