#include <map>

#include <catch2/catch.hpp>

#include "query/views/activity_view.h"
#include "query/views/gap_view.h"
#include "query/views/session_view.h"
#include "query/views/transcript.h"

#include "tests/support/temp_store.h"

namespace respool::test {
namespace {

fs::path run(const std::string& name) {
  return data_path("captures/1.18.33/run/" + name);
}

std::map<std::string, std::size_t> outcomes(const TempStore& store) {
  std::map<std::string, std::size_t> counts;
  for (const auto& line : value(list_tools(store.reader(), {}, "", "", "")))
    ++counts[std::string(outcome_name(line.outcome))];
  return counts;
}

std::map<std::string, std::size_t> outcomes_of(const fs::path& file) {
  TempStore store;
  store.ingest_file(file);
  return outcomes(store);
}

using Counts = std::map<std::string, std::size_t>;

std::size_t count_gaps(const TempStore& store, GapKind kind) {
  std::size_t count = 0;
  for (const auto& line : value(list_gaps(store.reader(), {}, "")))
    count += line.gap.kind == kind ? 1 : 0;
  return count;
}

}  // namespace

TEST_CASE("a withheld tool is told apart, with the tool the model wanted", "[query][tools]") {
  TempStore store;
  store.ingest_file(run("denied-bash.ndjson"));

  const auto lines = value(list_tools(store.reader(), {}, "", "", ""));

  REQUIRE(lines.size() == 1);
  CHECK(lines.front().outcome == ToolOutcome::Withheld);
  CHECK(lines.front().part.tool == "invalid");
  CHECK(lines.front().part.attempted == "bash");
  CHECK(outcomes_of(run("denied-then-spins.ndjson")) == Counts{{"withheld", 26}});
  CHECK(outcomes_of(run("denied-mutating-set.ndjson")).at("withheld") == 4);
}

TEST_CASE("a denied tool does not hide what was written another way", "[query][files]") {
  TempStore store;
  store.ingest_file(run("denied-bash-then-write.ndjson"));

  const auto files = value(list_files(store.reader(), {}, ""));

  REQUIRE_FALSE(files.empty());
  CHECK(files.front().action == fb::FileAction::Write);
  CHECK(files.front().outcome == ToolOutcome::Completed);
}

TEST_CASE("a refusal by a person or by a rule is not a failure of the tool", "[query][tools]") {
  CHECK(outcomes_of(run("ask-auto-rejected.ndjson")).at("refused") == 1);
  CHECK(outcomes_of(run("denied-pattern.ndjson")).at("refused") == 1);
  CHECK(
      outcomes_of(data_path("captures/1.18.33/serve/permission-reject/event.sse")).at("refused") >=
      1);
  CHECK(outcomes_of(data_path("captures/1.18.33/serve/question-reject/event.sse")).at("refused") ==
        1);
}

TEST_CASE("an aborted tool is not a success although OpenCode calls it completed",
          "[query][tools]") {
  const auto counts = outcomes_of(data_path("captures/1.18.33/serve/abort-tool/event.sse"));

  CHECK(counts.at("aborted") == 1);
}

TEST_CASE("a tool that fails is failed", "[query][tools]") {
  CHECK(outcomes_of(run("tool-error-read-missing.ndjson")).at("failed") == 1);
  CHECK(outcomes_of(run("tool-error-bad-arguments.ndjson")).at("failed") == 1);
}

TEST_CASE("a tool of a killed run is running until the session goes on, then orphaned",
          "[query][tools]") {
  for (const std::string signal : {"sigint", "sigterm", "sigkill"}) {
    INFO(signal);
    TempStore store;

    store.ingest_file(run("interrupted-" + signal + ".export.json"));
    CHECK(outcomes(store) == Counts{{"running", 1}});

    store.ingest_file(run("interrupted-" + signal + "-resumed.ndjson"));
    CHECK(outcomes(store).at("orphaned") == 1);
    CHECK(outcomes(store).count("running") == 0);
    CHECK(count_gaps(store, GapKind::OrphanedTool) == 1);
    CHECK(count_gaps(store, GapKind::UnfinishedTurn) >= 1);
  }
}

TEST_CASE("a prompt that waits in the queue does not end a tool that runs", "[query][tools]") {
  TempStore store;
  std::string bytes =
      R"({"id":"evt_22e26ca2a001QgmAC7a1idbZFx","type":"message.updated","properties":{"sessionID":"ses_1","info":{"id":"msg_1","sessionID":"ses_1","role":"assistant","parentID":"msg_0","time":{"created":1796070623780}}}})"
      "\n";
  bytes +=
      R"({"id":"evt_22e26ca2a002QgmAC7a1idbZFx","type":"message.part.updated","properties":{"sessionID":"ses_1","part":{"id":"prt_1","sessionID":"ses_1","messageID":"msg_1","type":"tool","tool":"bash","callID":"c","state":{"status":"running","input":{},"time":{"start":1796070623790}}},"time":1796070623790}})"
      "\n";
  bytes +=
      R"({"id":"evt_22e26d22c001QgmAC7a1idbZFx","type":"message.updated","properties":{"sessionID":"ses_1","info":{"id":"msg_2","sessionID":"ses_1","role":"user","time":{"created":1796070625836}}}})"
      "\n";

  store.ingest(bytes);

  CHECK(outcomes(store) == Counts{{"running", 1}});
}

TEST_CASE("every capture's tool calls end as OpenCode's own words say", "[query][tools]") {
  const std::map<std::string, Counts> expected = {
      {"run/denied-bash.ndjson", {{"withheld", 1}}},
      {"run/denied-bash-then-write.ndjson", {{"withheld", 1}, {"completed", 1}}},
      {"run/denied-mutating-set.ndjson", {{"withheld", 4}}},
      {"run/denied-then-spins.ndjson", {{"withheld", 26}}},
      {"run/denied-pattern.ndjson", {{"refused", 1}, {"completed", 1}}},
      {"run/ask-auto-rejected.ndjson", {{"refused", 1}}},
      {"run/external-directory.ndjson", {{"refused", 1}}},
      {"run/tool-error-unknown-tool.ndjson", {{"withheld", 1}}},
      {"run/tool-error-bad-arguments.ndjson", {{"failed", 1}}},
      {"run/tool-error-read-missing.ndjson", {{"failed", 1}}},
      {"serve/permission-reject/event.sse", {{"refused", 1}}},
      {"serve/question-reject/event.sse", {{"refused", 1}}},
      {"serve/abort-tool/event.sse", {{"aborted", 1}}},
  };
  for (const auto& [name, counts] : expected) {
    INFO(name);
    CHECK(outcomes_of(data_path("captures/1.18.33/" + name)) == counts);
  }
}

TEST_CASE("asking for completed calls lists none that did not run to their end", "[query][tools]") {
  TempStore store;
  for (const auto& file : captures("run", ".ndjson"))
    store.ingest_file(file);
  store.ingest_file(data_path("captures/1.18.33/serve/abort-tool/event.sse"));

  const auto lines = value(list_tools(store.reader(), {}, "", "completed", ""));

  REQUIRE_FALSE(lines.empty());
  for (const auto& line : lines) {
    CHECK(line.part.tool != "invalid");
    CHECK(line.part.status == fb::ToolStatus::Completed);
    CHECK(line.part.exit_state != fb::ExitState::Null);
  }
}

TEST_CASE("permissions join request and reply", "[query][permissions]") {
  TempStore store;
  store.ingest_file(data_path("captures/1.18.33/serve/permission-once/event.sse"));

  const auto lines = value(list_permissions(store.reader(), {}, ""));

  REQUIRE(lines.size() == 3);
  for (const auto& line : lines) {
    CHECK((line.ask.permission == "bash" || line.ask.permission == "edit"));
    CHECK(line.ask.reply == "once");
    CHECK_FALSE(line.ask.patterns.empty());
    CHECK_FALSE(line.ask.call.empty());
    CHECK(*line.ask.replied_ms >= *line.ask.asked_ms);
  }
}

TEST_CASE("questions join their answers", "[query][permissions]") {
  TempStore store;
  store.ingest_file(data_path("captures/1.18.33/serve/question-reply/event.sse"));

  const auto lines = value(list_permissions(store.reader(), {}, ""));

  REQUIRE(lines.size() == 1);
  CHECK(lines.front().ask.permission == "question");
  CHECK(lines.front().ask.reply == "answered");
  CHECK_FALSE(lines.front().ask.answers.empty());
}

TEST_CASE("a run stream says what it cannot show", "[query][gaps]") {
  TempStore store;
  store.ingest_file(run("tool-task-subagent.ndjson"));

  CHECK(count_gaps(store, GapKind::PromptNotInSource) == 1);
  CHECK(count_gaps(store, GapKind::ModelNotInSource) == 1);
  CHECK(count_gaps(store, GapKind::PermissionsNotInSource) == 1);
  CHECK(count_gaps(store, GapKind::RetriesNotInSource) == 1);
  CHECK(count_gaps(store, GapKind::ChildNotCaptured) == 1);
}

TEST_CASE("an event stream from the session's start leaves no gap", "[query][gaps]") {
  TempStore store;
  store.ingest_file(data_path("captures/1.18.33/serve/session-lifecycle/event.sse"));

  for (const auto& line : value(list_gaps(store.reader(), {}, ""))) {
    CHECK(line.gap.kind != GapKind::PromptNotInSource);
    CHECK(line.gap.kind != GapKind::PermissionsNotInSource);
    CHECK(line.gap.kind != GapKind::UnknownType);
  }
}

TEST_CASE("a cut output names the file that holds the rest", "[query][gaps]") {
  TempStore store;
  store.ingest_file(run("large-bash-output.ndjson"));

  CHECK(count_gaps(store, GapKind::OutputFileMissing) == 2);
}

TEST_CASE("a provider that reports no usage is a gap, not a free step", "[query][gaps]") {
  TempStore store;
  store.ingest_file(run("text-no-usage.ndjson"));

  CHECK(count_gaps(store, GapKind::ZeroUsage) == 1);
}

TEST_CASE("an error line is no malformed record", "[query][gaps]") {
  TempStore store;
  const auto counts = store.ingest_file(run("error-unknown-model.ndjson"));

  CHECK(counts.malformed == 0);
  const auto facts = store.facts(store.session_ids().front());
  const auto shown = value(read_transcript(store.reader(), facts.number, {}));
  REQUIRE(shown.items.size() == 1);
  CHECK(shown.items.front().kind == "error");
  REQUIRE(facts.errors.size() == 1);
  CHECK(facts.errors.begin()->second.name == "UnknownError");
  CHECK_FALSE(facts.errors.begin()->second.text.empty());
}

}  // namespace respool::test
