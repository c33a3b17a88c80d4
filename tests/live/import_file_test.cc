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

// A session of the home's store, as a file for `directory` under new ids.
OpenCodeFile moved_file(const LiveHome& home,
                        const std::string& session,
                        OpenCodeFileOptions options) {
  StoreOptions where;
  where.directory = home.store();
  const auto store = value(Store::open(where, Access::Read));
  const StoreReader reader(*store);
  options.fresh_ids = true;
  options.seed = "an attempt at " + options.directory + options.title;
  options.id_time_ms = now_ms();
  options.zero_usage = true;
  const auto number = value(reader.number_of(session));
  REQUIRE(number);
  return value(opencode_file(reader, *number, {}, options));
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
std::vector<std::string> last_request(const std::string& session) {
  std::string newest;
  for (const auto& line : ScriptedModel::instance().requests()) {
    const bool chat = field(line, "kind") == "chat" && field(line, "session") == session;
    if (chat) newest = line;
  }
  std::vector<std::string> messages;
  if (newest.empty()) return messages;
  const std::string list = json_at(newest, "messages");
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
  const auto request = last_request(session);
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

}  // namespace respool::test
