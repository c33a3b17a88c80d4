#include "query/replay/touched_files.h"

#include <catch2/catch.hpp>

#include "schema/digest.h"
#include "schema/opencode/json_text.h"

#include "query/replay/prefix.h"

namespace respool::test {
namespace {

std::string digest(const std::string& text) {
  return to_hex(as_bytes(sha256(text)));
}

TranscriptItem call(fb::FileAction action, const std::string& path, const std::string& input) {
  TranscriptItem item;
  item.role = "assistant";
  item.message = "msg_1";
  item.kind = "tool";
  item.tool = "write";
  item.input = input;
  item.outcome = ToolOutcome::Completed;
  item.files.push_back({path, action});
  return item;
}

std::string write_input(const std::string& path, const std::string& content) {
  return "{\"filePath\":" + json_string(path) + ",\"content\":" + json_string(content) + "}";
}

std::string edit_input(const std::string& path,
                       const std::string& from,
                       const std::string& to,
                       bool all) {
  return "{\"filePath\":" + json_string(path) + ",\"oldString\":" + json_string(from) +
         ",\"newString\":" + json_string(to) + ",\"replaceAll\":" + (all ? "true" : "false") + "}";
}

}  // namespace

TEST_CASE("what was written and then edited is known whole", "[query][replay]") {
  Transcript transcript;
  transcript.items = {call(fb::FileAction::Write, "/w/a", write_input("/w/a", "one two two")),
                      call(fb::FileAction::Edit, "/w/a", edit_input("/w/a", "two", "three", true)),
                      call(fb::FileAction::Read, "/w/b", "{}")};

  const auto files = touched_files(transcript);

  REQUIRE(files.size() == 2);
  CHECK(files[0].path == "/w/a");
  CHECK(files[0].action == "edit");
  CHECK(files[0].recorded == digest("one three three"));
  CHECK(files[1].action == "read");
  CHECK(files[1].recorded.empty());
  CHECK(compared(files[0], {{"/w/a", digest("one three three")}}) == "same");
  CHECK(compared(files[0], {{"/w/a", digest("else")}}) == "changed");
  CHECK(compared(files[0], {{"/w/a", std::nullopt}}) == "missing");
  CHECK(compared(files[1], {{"/w/b", digest("x")}}) == "there");
  CHECK(compared(files[0], {}).empty());
}

TEST_CASE("a call that was cut off leaves the content unknown, one that never ran touches nothing",
          "[query][replay]") {
  auto cut = call(fb::FileAction::Edit, "/w/a", edit_input("/w/a", "one", "two", false));
  cut.outcome = ToolOutcome::Orphaned;
  auto refused = call(fb::FileAction::Write, "/w/c", write_input("/w/c", "no"));
  refused.outcome = ToolOutcome::Refused;
  auto reverted = call(fb::FileAction::Write, "/w/d", write_input("/w/d", "no"));
  reverted.removed = true;
  Transcript transcript;
  transcript.items = {
      call(fb::FileAction::Write, "/w/a", write_input("/w/a", "one")), cut, refused, reverted};

  const auto files = touched_files(transcript);

  REQUIRE(files.size() == 1);
  CHECK(files[0].recorded.empty());
}

TEST_CASE(
    "a replay says which files are the same, changed and missing, and which calls were cut off",
    "[query][replay]") {
  auto cut = call(fb::FileAction::Edit, "/w/b", edit_input("/w/b", "one", "two", false));
  cut.outcome = ToolOutcome::Orphaned;
  Transcript transcript;
  transcript.session = "ses_1";
  transcript.directory = "/w";
  transcript.items = {call(fb::FileAction::Write, "/w/a", write_input("/w/a", "one")), cut};

  const auto text = render_replay(transcript,
                                  {.new_directory = "/new",
                                   .new_host = "there",
                                   .present = {{"/w/a", digest("other")}, {"/w/b", std::nullopt}}})
                        .text;

  CHECK(text.find("; now: changed") != std::string::npos);
  CHECK(text.find("; now: missing\n| /w/b") != std::string::npos);
  CHECK(text.find("may have taken effect") != std::string::npos);
  CHECK(text.find("| /w\n") != std::string::npos);
  CHECK(text.find("| /new on the host there\n") != std::string::npos);
}

}  // namespace respool::test
