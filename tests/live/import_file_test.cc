#include <algorithm>
#include <chrono>
#include <csignal>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "schema/opencode/json_fields.h"

#include "query/export/opencode_file.h"

#include "tests/live/facts.h"
#include "tests/live/fixture.h"
#include "tests/query/export/opencode_json.h"
#include "tests/support/temp_store.h"

namespace respool::test {
namespace {

using std::chrono::seconds;

constexpr seconds kTurnLimit{120};

std::int64_t now_ms() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

// A session as a file for `options.directory` under new ids.
OpenCodeFile moved_file(const StoreReader& reader,
                        const std::string& session,
                        OpenCodeFileOptions options) {
  options.fresh_ids = true;
  options.seed = "an attempt at " + options.directory + options.title;
  options.id_time_ms = now_ms();
  options.zero_usage = true;
  const auto number = value(reader.number_of(session));
  REQUIRE(number);
  return value(opencode_file(reader, *number, {}, options));
}

// The same of the store that `respool` in this home writes.
OpenCodeFile moved_file(const LiveHome& home,
                        const std::string& session,
                        const OpenCodeFileOptions& options) {
  StoreOptions where;
  where.directory = home.store();
  const auto store = value(Store::open(where, Access::Read));
  return moved_file(StoreReader(*store), session, options);
}

// Imports the file in `directory`, and checks that OpenCode then exports what the file says.
void import_into(const LiveHome& home, const fs::path& directory, const OpenCodeFile& file) {
  fs::create_directories(directory);
  write_file(directory / "session.json", file.json);
  const auto imported = home.opencode_in(directory, {"import", "session.json"});
  INFO(imported.out << imported.err);
  REQUIRE(imported.exit_code == 0);
  CHECK(imported.out.find(file.session) != std::string::npos);

  const auto exported = home.opencode_in(directory, {"export", file.session});
  INFO(exported.err);
  REQUIRE(exported.exit_code == 0);
  const auto ours = read_exported(file.json);
  const auto theirs = read_exported(exported.out);
  CHECK(text_at(theirs.info, "directory") == fs::canonical(directory).string());
  REQUIRE(ours.messages.size() == theirs.messages.size());
  for (std::size_t i = 0; i < ours.messages.size(); ++i) {
    CHECK(ours.messages[i].info == theirs.messages[i].info);
    CHECK(ours.messages[i].parts == theirs.messages[i].parts);
  }
}

// What the model was sent in the newest request of a session, as "role: beginning of the text".
std::vector<std::string> last_messages(const std::string& session) {
  std::vector<std::string> messages;
  const std::string list = last_request(session);
  if (list.empty()) return messages;
  const auto elements = split_json_array(list);
  REQUIRE(elements);
  for (const auto& element : *elements) {
    const std::string content = json_at(element, "content");
    messages.push_back(fmt::format("{}: {}{}",
                                   text_at(element, "role"),
                                   content == "null" ? "" : content,
                                   json_at(element, "tool_calls").empty() ? "" : " +calls"));
  }
  return messages;
}

std::vector<std::string> roles_of(const std::vector<std::string>& messages) {
  std::vector<std::string> roles;
  for (const auto& message : messages)
    roles.push_back(message.substr(0, message.find(':')));
  return roles;
}

bool any_has(const std::vector<std::string>& texts, const std::string& text) {
  return std::ranges::any_of(texts,
                             [&](const auto& one) { return one.find(text) != std::string::npos; });
}

// Continues the imported session and returns what the model was sent.
std::vector<std::string> resume_in(const LiveHome& home,
                                   const fs::path& directory,
                                   const std::string& session,
                                   const std::string& prompt) {
  const auto turn = home.opencode_in(directory, {"run", "-s", session}, prompt);
  INFO(turn.out << turn.err);
  CHECK(turn.exit_code == 0);
  const auto request = last_messages(session);
  REQUIRE_FALSE(request.empty());
  return request;
}

}  // namespace

TEST_CASE("a recorded session lives on in another directory under new ids", "[live][export]") {
  const auto* version = GENERATE(kNewestOpenCode, kOldestOpenCode);
  INFO(version);
  const LiveHome home(version);
  const auto first = run_prompt(home, "edit files");
  run_prompt(home, "run a tool", {"-s", first.session});
  home.respool({"sync"});
  const fs::path elsewhere = home.path() / "elsewhere";
  const auto file = moved_file(home,
                               first.session,
                               {.directory = elsewhere,
                                .map_paths = true,
                                .title = "Moved",
                                .closing_note = "The session moved to another directory."});

  import_into(home, elsewhere, file);
  const auto request = resume_in(home, elsewhere, file.session, "do you remember");
  const auto after = home.opencode_in(elsewhere, {"export", file.session}).out;

  INFO(fmt::format("{}", fmt::join(request, "\n")));
  CHECK(roles_of(request) == std::vector<std::string>{"system",
                                                      "user",
                                                      "assistant",
                                                      "tool",
                                                      "assistant",
                                                      "tool",
                                                      "assistant",
                                                      "tool",
                                                      "assistant",
                                                      "user",
                                                      "assistant",
                                                      "tool",
                                                      "assistant",
                                                      "user",
                                                      "user"});
  CHECK(any_has(request, "one\\ntwo"));
  CHECK(any_has(request, "The session moved to another directory."));
  CHECK(file.json.find((elsewhere / "notes.txt").string()) != std::string::npos);
  // The new turn's alone.
  CHECK(json_at(after, "info/tokens/input") == "1109");
  CHECK(json_at(after, "info/tokens/output") == "17");
  CHECK(text_at(after, "info/title") == "Moved");
  const auto again = home.opencode({"export", first.session});
  CHECK(json_at(again.out, "info/tokens/input") != "0");
}

TEST_CASE("a session that runs alone showed is imported with its prompts", "[live][export]") {
  const LiveHome home;
  const auto first = run_prompt(home, "say hello");
  run_prompt(home, "run a tool", {"-s", first.session});
  const fs::path elsewhere = home.path() / "elsewhere";
  const auto with_prompts =
      moved_file(home,
                 first.session,
                 {.directory = elsewhere, .model_provider = "scripted", .model = "scripted-1"});
  TempStore lines_alone;
  for (const auto& line : home.ask({"events", first.session, "--source", "run", "--raw"}))
    lines_alone.ingest(line + "\n");
  const fs::path nowhere = home.path() / "nowhere";
  const auto without_prompts =
      moved_file(lines_alone.reader(),
                 first.session,
                 {.directory = nowhere, .model_provider = "scripted", .model = "scripted-1"});

  import_into(home, elsewhere, with_prompts);
  import_into(home, nowhere, without_prompts);
  const auto request = resume_in(home, elsewhere, with_prompts.session, "do you remember");
  const auto blind = resume_in(home, nowhere, without_prompts.session, "do you remember");

  const std::vector<std::string> roles = {
      "system", "user", "assistant", "user", "assistant", "tool", "assistant", "user"};
  INFO(fmt::format("{}\n{}", fmt::join(request, "\n"), fmt::join(blind, "\n")));
  CHECK(roles_of(request) == roles);
  CHECK(any_has(request, "say hello"));
  CHECK(any_has(request, "one\\ntwo"));
  CHECK(roles_of(blind) == roles);
  CHECK_FALSE(any_has(blind, "say hello"));
  CHECK(any_has(blind, "was not recorded"));
}

TEST_CASE("a session is imported after a compaction as OpenCode would go on with it",
          "[live][export]") {
  const LiveHome home;
  const auto report = run_prompt(home, "overflow");
  home.respool({"sync"});
  const fs::path elsewhere = home.path() / "elsewhere";
  const auto file = moved_file(home, report.session, {.directory = elsewhere});

  import_into(home, elsewhere, file);
  const auto request = resume_in(home, elsewhere, file.session, "say hello");
  const auto native = resume_in(home, home.work(), report.session, "say hello");

  INFO(fmt::format("{}\n{}", fmt::join(request, "\n"), fmt::join(native, "\n")));
  CHECK(any_has(request, "What did we do so far?"));
  CHECK(std::equal(
      request.begin() + 1, request.end(), native.begin() + 1, native.end()));  // all but the system
}

TEST_CASE("what was reverted does not come along", "[live][export]") {
  const LiveHome home;
  std::string session;
  std::string exported;
  {
    const OpenCodeServer server(home);
    session = server.run("run a tool");
    server.post(fmt::format("/session/{}/message", session),
                R"({"parts":[{"type":"text","text":"think"}]})");
    const auto messages = read_exported(home.export_of(session)).messages;
    const auto reverted = std::ranges::find_if(
        messages, [](const auto& message) { return any_has(message.parts, "\"think\""); });
    REQUIRE(reverted != messages.end());
    server.post(fmt::format("/session/{}/revert", session),
                fmt::format(R"({{"messageID":{}}})", json_at(reverted->info, "id")));
    exported = home.export_of(session);
  }
  REQUIRE_FALSE(json_at(exported, "info/revert").empty());
  TempStore store;
  store.ingest(exported);
  const fs::path elsewhere = home.path() / "elsewhere";
  const auto file = moved_file(store.reader(), session, {.directory = elsewhere});

  import_into(home, elsewhere, file);
  const auto request = resume_in(home, elsewhere, file.session, "say hello");

  INFO(fmt::format("{}", fmt::join(request, "\n")));
  CHECK(roles_of(request) ==
        std::vector<std::string>{"system", "user", "assistant", "tool", "assistant", "user"});
  CHECK(any_has(request, "one\\ntwo"));
}

TEST_CASE("a call that was interrupted for ever tells the model so", "[live][export]") {
  const LiveHome home;
  const auto run = home.start_respool({"run", "--json"}, "sleep long");
  const auto asks_for_it = [] {
    return any_has(ScriptedModel::instance().requests(), "sleep long");
  };
  REQUIRE(becomes_true(kTurnLimit, asks_for_it));
  REQUIRE(becomes_true(kTurnLimit, [&] {
    home.respool({"sync"});
    const auto sessions = home.ask({"sessions", "--json"});
    return sessions.size() == 1 &&
           any_has(home.ask({"tools", field(sessions[0], "session"), "--json"}), "bash");
  }));
  run->send(SIGINT);
  run->wait(kTurnLimit);
  home.respool({"sync"});
  const std::string session = field(home.ask({"sessions", "--json"}).front(), "session");
  REQUIRE(home.export_of(session).find(R"("status": "running")") != std::string::npos);
  const fs::path elsewhere = home.path() / "elsewhere";
  const auto file = moved_file(home, session, {.directory = elsewhere});

  import_into(home, elsewhere, file);
  const auto request = resume_in(home, elsewhere, file.session, "say hello");

  INFO(fmt::format("{}", fmt::join(request, "\n")));
  CHECK(roles_of(request) ==
        std::vector<std::string>{"system", "user", "assistant", "tool", "user"});
  CHECK(any_has(request, "interrupted"));
  CHECK(any_has(request, "It may have taken effect"));
}

TEST_CASE("exports of versions before 1.3 are imported and go on", "[live][export]") {
  const LiveHome home;
  for (const auto* version : {"1.1.65", "1.2.27"}) {
    INFO(version);
    TempStore store;
    store.ingest_file(data_path(fmt::format("captures/{}/store/export-tools.json", version)));
    const fs::path directory = home.path() / version;
    fs::create_directories(directory);
    const auto file =
        moved_file(store.reader(),
                   store.session_ids().front(),
                   {.directory = directory, .model_provider = "scripted", .model = "scripted-1"});
    write_file(directory / "session.json", file.json);

    const auto imported = home.opencode_in(directory, {"import", "session.json"});
    const auto request = resume_in(home, directory, file.session, "say hello");

    INFO(imported.out << imported.err << fmt::format("{}", fmt::join(request, "\n")));
    CHECK(imported.exit_code == 0);
    CHECK(std::ranges::count(roles_of(request), "tool") == 3);
    CHECK(roles_of(request).back() == "user");
  }
}

TEST_CASE("a plain file imported into another home is exported there as it was here",
          "[live][export]") {
  const LiveHome here;
  write_file(here.work() / "note.txt", "a text file\n");
  const auto report = run_prompt(here, "look at files", {"-f", "note.txt"});
  run_prompt(here, "strange characters", {"-s", report.session});
  run_prompt(here, "think", {"-s", report.session});
  const std::string original = here.export_of(report.session);
  here.respool({"sync"});
  StoreOptions where;
  where.directory = here.store();
  const auto store = value(Store::open(where, Access::Read));
  const StoreReader reader(*store);
  const auto number = value(reader.number_of(report.session));
  REQUIRE(number);
  const auto file = value(opencode_file(reader, *number, {}, {}));
  const LiveHome there;
  write_file(there.work() / "session.json", file.json);

  const auto imported = there.opencode({"import", "session.json"});

  INFO(imported.out << imported.err);
  REQUIRE(imported.exit_code == 0);
  const auto was = read_exported(original);
  const auto is = read_exported(there.export_of(report.session));
  const auto rebound = [](const std::string& info) {
    auto session = JsonFields::parse(info);
    REQUIRE(session);
    for (const auto* field : {"directory", "projectID", "path"})
      session->remove(field);
    return session->json();
  };
  CHECK(rebound(is.info) == rebound(was.info));
  REQUIRE(is.messages.size() == was.messages.size());
  for (std::size_t i = 0; i < is.messages.size(); ++i) {
    CHECK(is.messages[i].info == was.messages[i].info);
    CHECK(is.messages[i].parts == was.messages[i].parts);
  }
}

}  // namespace respool::test
