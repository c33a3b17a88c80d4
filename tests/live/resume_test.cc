#include <algorithm>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "tests/live/facts.h"
#include "tests/live/fixture.h"

namespace respool::test {
namespace {

const std::string kNumber = "7319";

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

std::size_t count_of(const std::string& text, std::string_view part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size()))
    ++count;
  return count;
}

// A session with a number in it, three turns long, the last of them with a tool.
std::string session_with_number(const LiveHome& home) {
  const auto first = run_prompt(home, "Keep this number: " + kNumber);
  run_prompt(home, "think", {"--session", first.session});
  const auto last = run_prompt(home, "run a tool", {"--session", first.session});
  REQUIRE(last.outcome == "completed");
  return first.session;
}

struct Resumed {
  ProcessResult process;
  std::string session;
  std::string rung;
};

Resumed go_on(const LiveHome& home,
              const std::string& command,
              const std::string& session,
              const std::string& prompt,
              const std::vector<std::string>& flags = {}) {
  const TempDir dir;
  const std::string file = (dir.path() / "result").string();
  std::vector<std::string> words = {command, session, "--result", file};
  words.insert(words.end(), flags.begin(), flags.end());
  Resumed resumed;
  resumed.process = home.respool(words, prompt);
  INFO(resumed.process.err);
  if (fs::exists(file)) {
    resumed.session = field(read_file(file), "session");
    resumed.rung = field(read_file(file), "rung");
  }
  return resumed;
}

fs::path folder(const LiveHome& home, const std::string& name) {
  fs::create_directories(home.path() / name);
  return home.path() / name;
}

// The one line of `sessions` about a session.
std::string line_of(const LiveHome& home, const std::string& session) {
  return home.ask({"sessions", session, "--json"}).front();
}

std::int64_t total_steps(const LiveHome& home) {
  const auto lines = home.ask({"usage", "--json"});
  return std::stoll(field(lines.back(), "steps"));
}

void check_whole(const LiveHome& home) {
  const auto verified = home.respool({"verify"});
  INFO(verified.out << verified.err);
  CHECK(verified.exit_code == 0);
}

// A program that stands before OpenCode: `script` may do something of its own ("$@" are the words)
// and ends, or goes on to the real one.
void put_before_opencode(LiveHome& home, const std::string& script) {
  const fs::path program = folder(home, "before") / "opencode";
  const std::string real = opencode_program(kNewestOpenCode).string();
  fs::remove(program);
  write_file(program,
             fmt::format("#!/bin/sh\nREAL='{}'\n{}\nexec \"$REAL\" \"$@\"\n", real, script));
  fs::permissions(program, fs::perms::owner_all);
  home.environment()["RESPOOL_OPENCODE"] = program.string();
}

// Kills respool, whose guard started this script.
const std::string kKillRespool = "kill -9 $(ps -o ppid= -p $PPID); sleep 30";

}  // namespace

TEST_CASE("a session goes on in its own directory as OpenCode's own", "[live][resume]") {
  const LiveHome home;
  const auto session = session_with_number(home);

  const auto resumed = go_on(home, "resume", session, "do you remember");

  CHECK(resumed.process.exit_code == 0);
  CHECK(resumed.rung == "native");
  CHECK(resumed.session == session);
  CHECK(contains(last_request(session), kNumber));
  CHECK(total_steps(home) == 5);
}

TEST_CASE("a session goes on in another directory, with its history and its tools",
          "[live][resume]") {
  const LiveHome home;
  const auto session = session_with_number(home);
  const auto other = folder(home, "other");

  const auto resumed = go_on(home, "resume", session, "where are you", {"--dir", other.string()});

  INFO(resumed.process.err);
  CHECK(resumed.process.exit_code == 0);
  CHECK(resumed.rung == "import");
  CHECK(resumed.session != session);
  const auto request = last_request(resumed.session);
  CHECK(contains(request, kNumber));
  CHECK(contains(request, "printf 'one"));
  CHECK(contains(request, "one\\ntwo"));
  CHECK(contains(request, home.work().string()));
  CHECK(contains(request, other.string()));
  CHECK(contains(request, "\"role\":\"tool\""));
  const auto moved = home.ask({"show", resumed.session, "--json"});
  CHECK(std::ranges::any_of(moved, [&](const auto& item) {
    return field(item, "kind") == "tool" && field(item, "text") == other.string() + "\n";
  }));
  const auto line = line_of(home, resumed.session);
  CHECK(field(line, "resumed_from") == session);
  CHECK(field(line, "directory") == other.string());
  CHECK(field(line, "copied_steps") == "4");
  CHECK(field(line, "steps") == "2");
  CHECK(total_steps(home) == 6);
  const auto edges = home.ask({"lineage", "--json"});
  REQUIRE(edges.size() == 1);
  CHECK(field(edges[0], "kind") == "resume");
  CHECK(field(edges[0], "certainty") == "certain");
  check_whole(home);

  // Whoever resumes the old one there goes on in the new one.
  const auto again = go_on(home, "resume", session, "do you remember", {"--dir", other.string()});
  CHECK(again.session == resumed.session);
  CHECK(again.rung == "native");
}

TEST_CASE("a session that OpenCode deleted goes on from the log alone", "[live][resume]") {
  const LiveHome home;
  const auto session = session_with_number(home);
  const auto deleted = home.opencode({"session", "delete", session});
  INFO(deleted.out << deleted.err);
  REQUIRE(deleted.exit_code == 0);

  const auto resumed = go_on(home, "resume", session, "do you remember");

  INFO(resumed.process.err);
  CHECK(resumed.process.exit_code == 0);
  CHECK(resumed.rung == "import");
  CHECK(contains(last_request(resumed.session), kNumber));
  CHECK(contains(last_request(resumed.session), "one\\ntwo"));
  CHECK(field(home.ask({"bindings", session, "--json"}).front(), "state") == "dead");
}

TEST_CASE("a session goes on as text, once, and its text is no turn of the user's",
          "[live][resume]") {
  const LiveHome home;
  const auto session = session_with_number(home);

  const auto resumed = go_on(home, "resume", session, "do you remember", {"--rung", "prefix"});

  INFO(resumed.process.err);
  CHECK(resumed.process.exit_code == 0);
  CHECK(resumed.rung == "prefix");
  const auto request = last_request(resumed.session);
  CHECK(contains(request, "| Keep this number: " + kNumber));
  CHECK(contains(request, "one\\n| two"));
  CHECK(count_of(request, "</respool-replay") == 1);
  CHECK(contains(field(line_of(home, resumed.session), "title"), "[respool "));
  std::vector<std::string> kinds;
  for (const auto& item : home.ask({"show", resumed.session, "--json"})) {
    if (field(item, "role") == "user")
      kinds.push_back(field(item, "kind") + ":" + field(item, "text"));
  }
  CHECK(kinds == std::vector<std::string>{"replay:", "text:do you remember"});
  // Replayed again, the first session stands where its text stood, once.
  const auto replay = home.respool({"replay", resumed.session});
  CHECK(count_of(replay.out, "| Keep this number: " + kNumber) == 1);
  CHECK(contains(replay.out, "| do you remember"));
  CHECK(count_of(replay.out, "</respool-replay") == 1);
  check_whole(home);
}

TEST_CASE("a session is prepared without a prompt on every rung", "[live][resume]") {
  const LiveHome home;
  const auto session = session_with_number(home);
  const auto requests = ScriptedModel::instance().requests().size();

  for (const std::string rung : {"native", "import", "prefix"}) {
    INFO(rung);
    const auto prepared =
        home.respool({"resume", session, "--rung", rung, "--no-prompt", "--json"});
    INFO(prepared.err);
    REQUIRE(prepared.exit_code == 0);
    const std::string to = field(prepared.out, "session");
    CHECK(field(prepared.out, "rung") == rung);
    CHECK(ScriptedModel::instance().requests().size() == requests);
    CHECK(contains(home.export_of(to), kNumber));
  }
}

TEST_CASE("an import that did nothing binds nothing, and the text is seeded once",
          "[live][resume]") {
  LiveHome home;
  const auto session = session_with_number(home);
  put_before_opencode(home, "if [ \"$1\" = import ]; then echo 'Imported session'; exit 0; fi");

  const auto resumed =
      go_on(home, "resume", session, "do you remember", {"--dir", folder(home, "other").string()});

  INFO(resumed.process.err);
  CHECK(resumed.process.exit_code == 0);
  CHECK(resumed.rung == "prefix");
  CHECK(contains(resumed.process.err, "import did not work"));
  CHECK(count_of(last_request(resumed.session), "</respool-replay") == 1);
  const auto edges = home.ask({"lineage", "--json"});
  REQUIRE(edges.size() == 1);
  CHECK(field(edges[0], "to") == resumed.session);
}

TEST_CASE("a fork at a message leaves out what came after, and leaves the old session as it is",
          "[live][resume]") {
  const LiveHome home;
  const auto session = session_with_number(home);
  const auto before = home.export_of(session);
  std::string tool_prompt;
  for (const auto& item : home.ask({"show", session, "--json"})) {
    if (field(item, "text") == "run a tool") tool_prompt = field(item, "message");
  }
  if (tool_prompt.empty()) {
    home.respool({"sync"});
    for (const auto& item : home.ask({"show", session, "--json"})) {
      if (field(item, "text") == "run a tool") tool_prompt = field(item, "message");
    }
  }
  REQUIRE_FALSE(tool_prompt.empty());

  const auto forked = go_on(home, "fork", session, "do you remember", {"--before", tool_prompt});

  INFO(forked.process.err);
  CHECK(forked.process.exit_code == 0);
  CHECK(forked.rung == "import");
  CHECK(contains(last_request(forked.session), kNumber));
  CHECK_FALSE(contains(last_request(forked.session), "one\\ntwo"));
  CHECK(home.export_of(session) == before);
  CHECK(field(line_of(home, forked.session), "forked_from") == session);
  CHECK(field(line_of(home, forked.session), "steps") == "1");
  CHECK(total_steps(home) == 5);

  // The whole of it is forked by OpenCode itself.
  const auto whole = go_on(home, "fork", session, "do you remember");
  CHECK(whole.rung == "native");
  CHECK(whole.session != session);
  CHECK(contains(last_request(whole.session), "one\\ntwo"));
  home.respool({"sync"});
  CHECK(field(line_of(home, whole.session), "forked_from") == session);
  CHECK(total_steps(home) == 6);
}

TEST_CASE("a resume that was killed is finished by the next one, and seeds nothing twice",
          "[live][resume]") {
  struct Arrow {
    std::string what;
    std::string rung;
    std::string script;
  };
  const std::vector<Arrow> arrows = {
      {"planned, before the import",
       "import",
       "if [ \"$1\" = import ]; then " + kKillRespool + "; fi"},
      {"imported, before that was noted",
       "import",
       "if [ \"$1\" = import ]; then \"$REAL\" \"$@\" > /dev/null 2>&1; " + kKillRespool + "; fi"},
      {"planned, before the text was sent",
       "prefix",
       "if [ \"$1\" = run ]; then " + kKillRespool + "; fi"},
      {"the turn was made, before it was read back",
       "prefix",
       "if [ \"$1\" = run ]; then \"$REAL\" \"$@\"; " + kKillRespool + "; fi"},
  };
  for (const auto& arrow : arrows) {
    INFO(arrow.what);
    LiveHome home;
    const auto session = session_with_number(home);
    const auto other = folder(home, "other").string();
    put_before_opencode(home, arrow.script);
    const auto killed =
        go_on(home, "resume", session, "do you remember", {"--dir", other, "--rung", arrow.rung});
    CHECK(killed.process.exit_code != 0);
    CHECK(home.ask({"lineage", "--json"}).empty());
    put_before_opencode(home, "");

    const auto resumed =
        home.respool({"resume", session, "--dir", other, "--rung", arrow.rung}, "do you remember");

    INFO(resumed.err);
    CHECK(resumed.exit_code == 0);
    const auto edges = home.ask({"lineage", "--json"});
    REQUIRE(edges.size() == 1);
    const auto to = field(edges[0], "to");
    const auto request = last_request(to);
    CHECK(contains(request, kNumber));
    CHECK(count_of(request, "</respool-replay") == (arrow.rung == "prefix" ? 1 : 0));
    CHECK(count_of(home.export_of(to), "Keep this number") == 1);
    std::size_t seeds = 0;
    for (const auto& line : ScriptedModel::instance().requests())
      seeds += field(line, "session") == to && count_of(line, "</respool-replay") > 1 ? 1 : 0;
    CHECK(seeds == 0);
    check_whole(home);
  }
}

}  // namespace respool::test
