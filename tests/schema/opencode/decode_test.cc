#include <algorithm>
#include <random>

#include <catch2/catch.hpp>

#include "schema/ids.h"
#include "schema/opencode/id_time.h"
#include "schema/opencode/json_text.h"
#include "schema/opencode/record.h"
#include "schema/opencode/utf8.h"

#include "tests/support/files.h"

namespace respool::test {
namespace {

std::string run_line(const std::string& part) {
  return R"({"type":"text","timestamp":1796071385023,"sessionID":"ses_1","part":)" + part + "}";
}

std::string text_part(const std::string& text) {
  return R"({"id":"prt_1","messageID":"msg_1","sessionID":"ses_1","type":"text","text":")" + text +
         R"(","time":{"start":1,"end":2}})";
}

const fb::PartRowT& part_of(const Record& record) {
  return std::get<fb::PartRowT>(record.body);
}

}  // namespace

TEST_CASE("a record's shape is found from its keys, in any order", "[schema][opencode]") {
  CHECK(decode_record(run_line(text_part("x"))).shape == Shape::RunLine);
  CHECK(decode_record(R"({"id":"evt_1","type":"session.idle","properties":{"sessionID":"ses_1"}})")
            .shape == Shape::BusEvent);
  CHECK(decode_record(R"({"properties":{"sessionID":"ses_1"},"type":"session.idle","id":"evt_1"})")
            .kind == Kind::SessionIdle);
  CHECK(
      decode_record(
          R"({"directory":"/d","payload":{"id":"evt_1","type":"session.idle","properties":{"sessionID":"ses_1"}}})")
          .shape == Shape::GlobalEvent);
  CHECK(
      decode_record(
          R"({"payload":{"type":"sync","syncEvent":{"id":"evt_1","type":"message.removed.1","seq":3,"aggregateID":"ses_1","data":{"sessionID":"ses_1","messageID":"m"}}}})")
          .shape == Shape::SyncFrame);
  CHECK(
      decode_record(
          R"({"id":"evt_1","type":"session.idle","durable":{"aggregateID":"ses_1","seq":4,"version":1},"data":{"sessionID":"ses_1"}})")
          .shape == Shape::ApiEvent);
  CHECK(
      decode_record(
          R"({"id":"evt_1","aggregate_id":"ses_1","seq":0,"type":"session.deleted.1","data":{"sessionID":"ses_1"}})")
          .shape == Shape::SyncRow);
  CHECK(decode_record(R"({"type":"foo"})").shape == Shape::Unknown);
  CHECK(decode_record("nonsense").shape == Shape::Malformed);
  CHECK(decode_record("").shape == Shape::Malformed);
  CHECK(decode_record("[1,2]").shape == Shape::Malformed);
}

TEST_CASE("a sync frame carries session, sequence and removal", "[schema][opencode]") {
  const auto record = decode_record(
      R"({"payload":{"type":"sync","syncEvent":{"id":"evt_1","type":"message.removed.1","seq":3,"aggregateID":"ses_1","data":{"sessionID":"ses_1","messageID":"msg_9"}}}})");

  CHECK(record.session == "ses_1");
  CHECK(record.sequence == 3U);
  CHECK(record.kind == Kind::MessageRemoved);
  CHECK(std::get<RemovedBody>(record.body).message == "msg_9");
}

TEST_CASE("the last of two equal keys counts, as in OpenCode itself", "[schema][opencode]") {
  const auto record = decode_record(run_line(
      R"({"id":"prt_a","id":"prt_b","messageID":"m","sessionID":"ses_1","type":"text","text":"1","text":"22"})"));

  CHECK(part_of(record).id == "prt_b");
  CHECK(part_of(record).text_bytes == 2);
}

TEST_CASE("lone surrogates, escaped NUL and astral characters decode", "[schema][opencode]") {
  CHECK(decode_content(run_line(text_part(R"(a\ud83db)")), Shape::RunLine).text ==
        "a\xEF\xBF\xBD"
        "b");
  CHECK(decode_content(run_line(text_part(R"(\ude00)")), Shape::RunLine).text == "\xEF\xBF\xBD");
  CHECK(decode_content(run_line(text_part(R"(a\u0000b)")), Shape::RunLine).text ==
        std::string("a\0b", 3));
  CHECK(decode_content(run_line(text_part(R"(\ud83d\ude00)")), Shape::RunLine).text ==
        "\xF0\x9F\x98\x80");
  CHECK(part_of(decode_record(run_line(text_part(R"(\ud83d\ude00)")))).text_bytes == 4);
}

TEST_CASE("control characters and bad UTF-8 are read after repair, and said so",
          "[schema][opencode]") {
  const auto tab = decode_record(run_line(text_part("a\tb")));
  const auto bad =
      decode_record(run_line(text_part("a\xFF"
                                       "b")));

  CHECK((tab.problems & kRepaired) != 0);
  CHECK((bad.problems & kRepaired) != 0);
  CHECK(part_of(tab).id == "prt_1");
  CHECK(decode_content(run_line(text_part("a\tb")), Shape::RunLine).text == "a\tb");
}

TEST_CASE("a byte order mark is skipped", "[schema][opencode]") {
  CHECK(decode_record("\xEF\xBB\xBF" + run_line(text_part("x"))).shape == Shape::RunLine);
}

TEST_CASE("numbers may come as floats, times as ISO text", "[schema][opencode]") {
  const auto record = decode_record(
      R"({"id":"evt_1","type":"message.updated","properties":{"sessionID":"ses_1","info":{"id":"msg_1","sessionID":"ses_1","role":"assistant","time":{"created":"2026-11-30T20:30:23.780Z","completed":1796070623781.0},"tokens":{"input":5.0,"output":1e2,"reasoning":0,"cache":{"read":0,"write":0}},"cost":"0.1"}}})");
  const auto& row = std::get<fb::MessageRowT>(record.body);

  CHECK(*row.created_ms == 1796070623780);
  CHECK(*row.completed_ms == 1796070623781);
  CHECK(row.tokens.input() == 5);
  CHECK(row.tokens.output() == 100);
  CHECK(row.cost_nanos == 100'000'000);
  CHECK(record.problems == kNoProblem);
}

TEST_CASE("of two equal keys the last object counts whole", "[schema][opencode]") {
  const auto record = decode_record(run_line(
      R"({"id":"prt_1","messageID":"m","sessionID":"ses_1","type":"text","text":"x","tokens":{"input":1,"output":2},"tokens":{"input":3},"files":["a"],"files":["b"],"state":{"metadata":{"exit":3},"time":{"start":5,"end":6}},"state":{"status":"running","time":{"start":9}}})"));
  const auto& part = part_of(record);

  CHECK(part.tokens.input() == 3);
  CHECK(part.tokens.output() == 0);
  REQUIRE(part.files.size() == 1);
  CHECK(part.files.front()->path == "b");
  CHECK(part.exit_state == fb::ExitState::Absent);
  CHECK(*part.start_ms == 9);
  CHECK_FALSE(part.end_ms.has_value());
}

TEST_CASE("an error without a message keeps its name", "[schema][opencode]") {
  const auto error_of = [](const std::string& json) {
    return std::get<ErrorBody>(
        decode_record(R"({"type":"error","timestamp":1,"sessionID":"ses_1","error":)" + json + "}")
            .body);
  };

  CHECK(error_of(R"({"name":"APIError","data":{"message":"no"}})").text == "no");
  CHECK(error_of(R"({"name":"APIError","data":{}})").text == "APIError");
  CHECK(error_of(R"({"name":"APIError","message":"outer"})").text == "outer");
  CHECK(error_of(R"("just text")").text == "just text");
  CHECK_FALSE(error_of("{}").text.empty());
  CHECK_FALSE(error_of("null").text.empty());
}

TEST_CASE("a line's type must fit its part", "[schema][opencode]") {
  const std::string part =
      R"({"id":"prt_1","messageID":"msg_1","sessionID":"ses_1","type":"step-start"})";
  for (const std::string type : {"text", "tool_use", "reasoning", "step_finish"}) {
    INFO(type);
    const auto record = decode_record(
        R"({"type":")" + type + R"(","timestamp":1,"sessionID":"ses_1","part":)" + part + "}");
    CHECK((record.problems & kIdentityMismatch) != 0);
  }
  CHECK(decode_record(R"({"type":"step_start","timestamp":1,"sessionID":"ses_1","part":)" + part +
                      "}")
            .problems == kNoProblem);
}

TEST_CASE("session ids that cannot be one are refused as keys", "[schema]") {
  for (const std::string id : {"", "../../x", "a/b", ".x", "-x", "a b", "a\nb"}) {
    INFO(id);
    CHECK_FALSE(is_session_id(id));
  }
  CHECK_FALSE(is_session_id(std::string("a\0b", 3)));
  CHECK_FALSE(is_session_id(std::string(4096, 'a')));
  CHECK(is_session_id("ses_dd1c3e278ffe84QVgLcL6DG9xi"));
  CHECK(is_session_id("a:b.c-d_e"));
}

TEST_CASE("id times decode across the wrap", "[schema][opencode]") {
  const auto message = id_time("msg_22e11ee8c001aaaaaaaaaaaaaa");
  REQUIRE(message.has_value());
  CHECK(resolve_id_time(*message, 1796070000000) == 1796069256844);
  CHECK(message->counter() == 1);
  CHECK(resolve_id_time(*id_time("msg_22e1c30c3001aaaaaaaaaaaaaa"), 1796070000000) ==
        1796069929155);
  const auto session = id_time("ses_dd1d935dcffe33i17P2561tS77");
  REQUIRE(session.has_value());
  CHECK(resolve_id_time(*session, 1796070623780) == 1796070623779);
  // 2026-08-14T11:19:55.136Z: the last wrap.
  constexpr std::int64_t kWrap = 1786706395136;
  for (const std::int64_t time :
       {kWrap - 1, kWrap, kWrap + 1, kWrap + kIdWrapMs - 1, kWrap + kIdWrapMs}) {
    const IdTime id{id_bits_at(time, 7)};
    CHECK(resolve_id_time(id, time + 86'400'000) == time);
    CHECK(resolve_id_time(id, time - 86'400'000) == time);
  }
  CHECK(id_time_difference(id_bits_at(kWrap + 5, 0), id_bits_at(kWrap - 5, 0)) == 10 * 4096);
  CHECK_FALSE(id_time("msg_custom").has_value());
  CHECK_FALSE(id_time("").has_value());
}

TEST_CASE("no cut of any real record crashes the decoder, and the whole is always read",
          "[schema][opencode][fuzz]") {
  std::mt19937 random(5);
  std::size_t records = 0;
  for (const auto& file : captures("run", ".ndjson")) {
    for (const auto& line : delivered_lines(read_file(file))) {
      if (line.size() > 20'000) continue;
      ++records;
      CHECK(decode_record(line).problems == kNoProblem);
      for (int i = 0; i < 4; ++i)
        decode_record(line.substr(0, random() % line.size()));
      std::string flipped = line;
      for (int i = 0; i < 4; ++i)
        flipped[random() % flipped.size()] = static_cast<char>(random());
      decode_record(flipped);
      decode_content(flipped, Shape::RunLine);
    }
  }
  CHECK(records > 500);
}

TEST_CASE("JSON text is escaped so that it reads back", "[schema]") {
  CHECK(json_string("a\"b\\c\n\x01") == "\"a\\\"b\\\\c\\n\\u0001\"");
  CHECK(json_string("\xFF") == "\"\xEF\xBF\xBD\"");
  CHECK(json_string("\xE2\x80\xA8") == "\"\\u2028\"");
  CHECK(is_valid_utf8("\xF0\x9F\x98\x80"));
  CHECK_FALSE(is_valid_utf8("\xED\xA0\x80"));
  CHECK_FALSE(is_valid_utf8("\xC0\xAF"));
}

}  // namespace respool::test
