#include <algorithm>
#include <set>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "schema/opencode/json_fields.h"
#include "schema/opencode/json_text.h"

#include "query/export/opencode_file.h"

#include "tests/query/export/opencode_json.h"
#include "tests/support/temp_store.h"

namespace respool::test {
namespace {

OpenCodeFileOptions fresh() {
  OpenCodeFileOptions options;
  options.fresh_ids = true;
  options.seed = "first attempt";
  options.id_time_ms = kNow;
  options.directory = "/new/place";
  options.zero_usage = true;
  return options;
}

OpenCodeFile file_of(const TempStore& store,
                     const OpenCodeFileOptions& options,
                     const Point& point = {}) {
  const auto session = store.session_ids().front();
  return value(opencode_file(store.reader(), store.number(session), point, options));
}

constexpr const char* kInfo =
    R"({"id":"ses_1","slug":"a-b","projectID":"global","directory":"/work/shop","title":"T",)"
    R"("version":"1.18.33","parentID":"ses_0","share":{"url":"u"},"permission":[],"cost":3,)"
    R"("time":{"created":1796070000000,"updated":1796070009000,"archived":1}})";

std::string export_of(const std::string& messages, const std::string& info = kInfo) {
  return R"({"info":)" + info + R"(,"messages":[)" + messages + "]}";
}

std::string user(int number, const std::string& parts) {
  return fmt::format(
      R"({{"info":{{"id":"msg_{0}","sessionID":"ses_1","role":"user","time":{{"created":{1}}},)"
      R"("agent":"build","model":{{"providerID":"p","modelID":"m"}}}},"parts":[{2}]}})",
      number,
      1796070000000 + number,
      parts);
}

std::string answer(int number, int parent, const std::string& parts) {
  return fmt::format(
      R"({{"info":{{"id":"msg_{0}","sessionID":"ses_1","role":"assistant","parentID":"msg_{1}",)"
      R"("time":{{"created":{2}}},"modelID":"m","providerID":"p","mode":"build","agent":"build",)"
      R"("path":{{"cwd":"/work/shop","root":"/work/shop"}},"cost":1.5,"tokens":{{"input":5,)"
      R"("output":1,"reasoning":0,"cache":{{"read":0,"write":0}}}}}},"parts":[{3}]}})",
      number,
      parent,
      1796070000000 + number,
      parts);
}

std::string part(int message, int number, const std::string& fields) {
  return fmt::format(R"({{"id":"prt_{1}","sessionID":"ses_1","messageID":"msg_{0}",{2}}})",
                     message,
                     number,
                     fields);
}

std::string text(int message, int number, const std::string& words) {
  return part(message, number, R"("type":"text","text":")" + words + "\"");
}

std::vector<std::string> left_out(const OpenCodeFile& file) {
  std::vector<std::string> things;
  for (const auto& note : file.notes) {
    if (note.left_out) things.push_back(note.part.empty() ? note.message : note.part);
  }
  return things;
}

// What any file under new ids must hold, whatever it came from.
void check_fresh(const OpenCodeFile& file, const std::string& old_session) {
  const auto read = read_exported(file.json);
  CHECK(text_at(read.info, "id") == file.session);
  CHECK(file.session != old_session);
  CHECK(text_at(read.info, "directory") == "/new/place");
  CHECK(json_at(read.info, "cost") == "0");
  for (const auto* field : {"parentID", "share", "permission", "revert"})
    CHECK(json_at(read.info, field).empty());
  std::string last_id;
  std::string last_part;
  std::int64_t last_time = 0;
  std::set<std::string> users;
  REQUIRE(read.messages.size() == file.messages.size());
  for (const auto& message : read.messages) {
    const std::string id = text_at(message.info, "id");
    CHECK(id > last_id);
    last_id = id;
    const std::int64_t time = std::stoll(json_at(message.info, "time/created"));
    CHECK(time >= last_time);
    last_time = time;
    if (text_at(message.info, "role") == "user") {
      users.insert(id);
    } else {
      CHECK(users.count(text_at(message.info, "parentID")) == 1);
      CHECK(json_at(message.info, "cost") == "0");
    }
    for (const auto& one : message.parts) {
      CHECK(text_at(one, "id") > last_part);
      last_part = text_at(one, "id");
      CHECK(text_at(one, "messageID") == id);
      CHECK(text_at(one, "sessionID") == file.session);
      CHECK(text_at(one, "type") != "patch");
      CHECK(json_at(one, "snapshot").empty());
      const std::string status = text_at(one, "state/status");
      CHECK((status.empty() || status == "completed" || status == "error"));
    }
  }
}

}  // namespace

TEST_CASE("every recording can be written under new ids, the same bytes each time",
          "[query][export]") {
  std::vector<fs::path> sources;
  for (const auto* ending : {".json", ".ndjson"}) {
    for (const auto* folder : {"store", "run"}) {
      for (const auto& path : captures(folder, ending))
        sources.push_back(path);
    }
  }
  std::size_t files = 0;
  for (const auto& path : sources) {
    INFO(short_name(path));
    TempStore store;
    store.ingest_file(path);
    for (const auto& session : store.session_ids()) {
      const auto number = store.number(session);
      const auto file = value(opencode_file(store.reader(), number, {}, fresh()));
      check_fresh(file, session);
      CHECK(value(opencode_file(store.reader(), number, {}, fresh())).json == file.json);
      auto second = fresh();
      second.seed = "second attempt";
      const auto other = value(opencode_file(store.reader(), number, {}, second));
      REQUIRE(other.messages.size() == file.messages.size());
      for (std::size_t i = 0; i < file.messages.size(); ++i)
        CHECK(other.messages[i].second != file.messages[i].second);
      ++files;
    }
  }
  CHECK(files > 100);
}

TEST_CASE("a plain file taken in again says the same", "[query][export]") {
  TempStore store;
  store.ingest_file(data_path("captures/1.18.33/store/export-compacted.json"));
  const auto file = file_of(store, {});
  TempStore again;

  again.ingest(file.json);

  CHECK(again.session_ids() == store.session_ids());
  CHECK(file_of(again, {}).json == file.json);
}

TEST_CASE("new ids need a seed", "[query][export]") {
  TempStore store;
  store.ingest(export_of(user(1, text(1, 1, "hi"))));
  auto options = fresh();
  options.seed.clear();

  const auto file = opencode_file(store.reader(), store.number("ses_1"), {}, options);

  REQUIRE(file.has_error());
  CHECK(file.error().code() == ErrorCode::InvalidArgument);
}

TEST_CASE("calls that never ended become errors that keep their input", "[query][export]") {
  const std::string running = part(
      2,
      3,
      R"("type":"tool","tool":"bash","callID":"c1","state":{"status":"running","input":{"command":"ls /work/shop"},"time":{"start":1796070000005}})");
  const std::string pending = part(
      2,
      4,
      R"("type":"tool","tool":"bash","callID":"c2","state":{"status":"pending","input":{},"raw":"{"})");
  const std::string strange = part(
      2, 5, R"("type":"tool","tool":"bash","callID":"c3","state":{"status":"paused","input":{}})");
  const std::string unknown = part(2, 6, R"("type":"hologram")");
  TempStore store;
  store.ingest(export_of(user(1, text(1, 1, "hi")) + "," +
                         answer(2, 1, running + "," + pending + "," + strange + "," + unknown)));
  auto options = fresh();
  options.map_paths = true;

  const auto file = file_of(store, options);

  check_fresh(file, "ses_1");
  const auto parts = read_exported(file.json).messages.at(1).parts;
  REQUIRE(parts.size() == 2);
  CHECK(text_at(parts[0], "state/input/command") == "ls /new/place");
  CHECK(json_at(parts[0], "state/time/start") == "1796070000005");
  CHECK(text_at(parts[0], "state/error").find("may have taken effect") != std::string::npos);
  CHECK(text_at(parts[1], "state/status") == "error");
  CHECK(json_at(parts[1], "state/raw").empty());
  CHECK(left_out(file) == std::vector<std::string>{"prt_5", "prt_6"});
  const auto plain = read_exported(file_of(store, {}).json).messages.at(1).parts;
  CHECK(plain.size() == 4);
}

TEST_CASE("what a revert hides is left out from the named part on", "[query][export]") {
  std::string info = kInfo;
  info.pop_back();
  info += R"(,"revert":{"messageID":"msg_3","partID":"prt_4"}})";
  TempStore store;
  store.ingest(export_of(user(1, text(1, 1, "one")) + "," + answer(2, 1, text(2, 2, "two")) + "," +
                             user(3, text(3, 3, "three") + "," + text(3, 4, "four")) + "," +
                             answer(5, 3, text(5, 5, "five")),
                         info));

  const auto file = file_of(store, fresh());

  check_fresh(file, "ses_1");
  CHECK(read_exported(file.json).messages.size() == 3);
  CHECK(left_out(file) == std::vector<std::string>{"prt_4", "msg_5"});
  const auto plain = read_exported(file_of(store, {}).json);
  CHECK(plain.messages.size() == 4);
  CHECK(text_at(plain.info, "revert/messageID") == "msg_3");
}

TEST_CASE("a compaction names its tail by its new id, or not at all", "[query][export]") {
  const auto compaction = [](const std::string& tail) {
    return export_of(
        user(1, text(1, 1, "one")) + "," + answer(2, 1, text(2, 2, "two")) + "," +
        user(3, part(3, 3, R"("type":"compaction","auto":true,"tail_start_id":")" + tail + "\"")));
  };
  TempStore known;
  known.ingest(compaction("msg_1"));
  TempStore unknown;
  unknown.ingest(compaction("msg_0"));

  const auto mapped = file_of(known, fresh());
  const auto dropped = file_of(unknown, fresh());

  CHECK(text_at(read_exported(mapped.json).messages.at(2).parts.at(0), "tail_start_id") ==
        mapped.messages.at(0).second);
  CHECK(json_at(read_exported(dropped.json).messages.at(2).parts.at(0), "tail_start_id").empty());
}

TEST_CASE("an answer whose prompt is not there gets one that says so", "[query][export]") {
  TempStore store;
  store.ingest(export_of(answer(2, 1, text(2, 2, "two")) + "," + answer(3, 1, text(3, 3, "x"))));

  const auto file = file_of(store, fresh());

  check_fresh(file, "ses_1");
  const auto messages = read_exported(file.json).messages;
  REQUIRE(messages.size() == 3);
  CHECK(json_at(messages[0].parts.at(0), "synthetic") == "true");
  CHECK(text_at(messages[0].parts.at(0), "metadata/respool/note") == "prompt_not_recorded");
  CHECK(read_exported(file_of(store, {}).json).messages.size() == 2);
}

TEST_CASE("a closing note is the last message", "[query][export]") {
  TempStore store;
  store.ingest(export_of(user(1, text(1, 1, "hi"))));
  auto options = fresh();
  options.closing_note = "You are elsewhere now.";

  const auto file = file_of(store, options);

  check_fresh(file, "ses_1");
  const auto last = read_exported(file.json).messages.back();
  CHECK(text_at(last.info, "role") == "user");
  CHECK(text_at(last.parts.at(0), "text") == "You are elsewhere now.");
  CHECK(json_at(last.parts.at(0), "synthetic") == "true");
  CHECK(file.messages.back().first.empty());
}

TEST_CASE("hostile texts and ids pass through a file unharmed", "[query][export]") {
  TempStore store;
  store.ingest(export_of(
      user(1, text(1, 1, R"(lone \ud83d, nul \u0000, end \"]}]}, \u2028)")) + "," +
      R"({"info":{"id":"msg_\"],\\","sessionID":"ses_1","role":"user","time":{"created":1796070000009}},"parts":[]})"));

  for (const auto& options : {OpenCodeFileOptions{}, fresh()}) {
    const auto file = file_of(store, options);

    const auto read = read_exported(file.json);
    REQUIRE(read.messages.size() == 2);
    CHECK(text_at(read.messages[0].parts.at(0), "text") ==
          R"(lone \ud83d, nul \u0000, end \"]}]}, \u2028)");
    CHECK(file.messages[1].first == "msg_\"],\\");
  }
}

TEST_CASE("a file ends at the point it is asked for", "[query][export]") {
  TempStore store;
  store.ingest(export_of(user(1, text(1, 1, "one")) + "," + answer(2, 1, text(2, 2, "two")) + "," +
                         user(3, text(3, 3, "three"))));
  Point until;
  until.message = "msg_2";
  Point before = until;
  before.before = true;

  CHECK(file_of(store, fresh(), until).messages.size() == 2);
  CHECK(file_of(store, fresh(), before).messages.size() == 1);
  until.message = "msg_9";
  const auto missing = opencode_file(store.reader(), store.number("ses_1"), until, fresh());
  REQUIRE(missing.has_error());
  CHECK(missing.error().code() == ErrorCode::NotFound);
}

}  // namespace respool::test
