#include <set>

#include <catch2/catch.hpp>

#include "schema/opencode/id_time.h"
#include "schema/opencode/import_shape.h"
#include "schema/opencode/json_fields.h"
#include "schema/opencode/new_id.h"
#include "schema/opencode/path_map.h"
#include "schema/opencode/stored_object.h"

namespace respool::test {

TEST_CASE("what is not touched in an object keeps its bytes", "[schema][opencode]") {
  const std::string text =
      R"({"a": 1.50e+3, "b":"\ud83d \u0000 \/", "c":123456789012345678901234567890, "d":[ ],"e":null})";
  auto object = JsonFields::parse(text);
  REQUIRE(object);

  object->set_text("e", "new");
  object->remove("d");
  object->set_number("f", 7);

  CHECK(
      object->json() ==
      R"({"a":1.50e+3,"b":"\ud83d \u0000 \/","c":123456789012345678901234567890,"e":"new","f":7})");
}

TEST_CASE("of two equal keys the last one counts, however it is written", "[schema][opencode]") {
  auto object = JsonFields::parse(R"({"id":1,"x":2,"\u0069d":3})");
  REQUIRE(object);

  CHECK(object->get("id") == "3");
  CHECK(object->json() == R"({"id":3,"x":2})");
}

TEST_CASE("what is not one whole JSON object is refused", "[schema][opencode]") {
  for (const auto* text : {"",
                           "[]",
                           "{",
                           "{}{}",
                           R"({"a":tru})",
                           R"({"a":01})",
                           R"({"a":1.})",
                           R"({"a":"\x"})",
                           R"({"a":"\u12g4"})",
                           R"({"a":1,})",
                           R"({"a" 1})",
                           R"({a:1})"}) {
    INFO(text);
    CHECK_FALSE(JsonFields::parse(text));
  }
  CHECK_FALSE(JsonFields::parse(R"({"a":)" + std::string(100'000, '[') + "}"));
  CHECK(JsonFields::parse("{\"a\":\"tab\there \xff\"}")->get("a") ==
        "\"tab\\u0009here \xef\xbf\xbd\"");
}

TEST_CASE("an object is found in every envelope and in a row's columns", "[schema][opencode]") {
  const std::string part = R"({"id":"prt_1","type":"text","text":"x","later":[1]})";
  const std::vector<std::pair<Shape, std::string>> deliveries = {
      {Shape::ExportPart, part},
      {Shape::RunLine, R"({"type":"text","timestamp":1,"sessionID":"ses_1","part":)" + part + "}"},
      {Shape::BusEvent, R"({"type":"message.part.updated","properties":{"part":)" + part + "}}"},
      {Shape::GlobalEvent, R"({"payload":{"type":"t","properties":{"part":)" + part + "}}}"},
      {Shape::SyncFrame,
       R"({"payload":{"type":"sync","syncEvent":{"data":{"part":)" + part + "}}}}"},
      {Shape::SyncRow, R"({"aggregate_id":"ses_1","data":{"part":)" + part + "}}"},
      {Shape::ApiEvent, R"({"type":"t","data":{"part":)" + part + "}}"},
  };
  for (const auto& [shape, raw] : deliveries) {
    INFO(raw);
    const auto object = stored_object(raw, shape, ObjectKind::Part);
    REQUIRE(object);
    CHECK(object->json() == part);
    CHECK_FALSE(stored_object(raw.substr(0, raw.size() - 1), shape, ObjectKind::Part));
  }

  const auto row = stored_object(
      R"({"table":"part","id":"prt_1","message_id":"msg_1","session_id":"ses_1","data":{"type":"text"}})",
      Shape::DatabaseRow,
      ObjectKind::Part);
  REQUIRE(row);
  CHECK(row->json() == R"({"type":"text","id":"prt_1","sessionID":"ses_1","messageID":"msg_1"})");
}

TEST_CASE("a directory is mapped as whole components only", "[schema][opencode]") {
  const PathMap map("/work/shop/", "/new/place");
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"({"filePath":"/work/shop/a.js"})", R"({"filePath":"/new/place/a.js"})"},
      {R"({"filePath":"/work/shop"})", R"({"filePath":"/new/place"})"},
      {R"({"filePath":"/work/shop2/a.js"})", R"({"filePath":"/work/shop2/a.js"})"},
      {R"({"filePath":"/work/shop two/a.js"})", R"({"filePath":"/work/shop two/a.js"})"},
      {R"({"filePath":"/old/work/shop/a.js"})", R"({"filePath":"/old/work/shop/a.js"})"},
      {R"({"command":"cd /work/shop && ls \"/work/shop/src\"\n/work/shop"})",
       R"({"command":"cd /new/place && ls \"/new/place/src\"\n/new/place"})"},
      {R"({"command":"x /work/shop.bak /work/shop-2 a/work/shop $H/work/shop"})",
       R"({"command":"x /work/shop.bak /work/shop-2 a/work/shop $H/work/shop"})"},
      {R"({"url":"file:///work/shop/x","list":["/work/shop",1]})",
       R"({"url":"file:///new/place/x","list":["/new/place",1]})"},
      {R"({"a":"\/work\/shop\/x \ud83d","/work/shop":true})",
       R"({"a":"/new/place\/x \ud83d","/work/shop":true})"},
  };
  for (const auto& [from, to] : cases)
    CHECK(map.mapped(from) == to);

  CHECK_FALSE(PathMap("/", "/new").maps());
  CHECK_FALSE(PathMap("relative", "/new").maps());
  CHECK_FALSE(PathMap("/same", "/same/").maps());
  CHECK(PathMap("/a\"b\u00e9", "/n\"").mapped("[\"/a\\\"b\\u00e9/c\"]") == R"(["/n\"/c"])");
}

TEST_CASE("new ids ascend as texts, also where they wrap", "[schema][opencode]") {
  constexpr std::int64_t kWrap = 26 * kIdWrapMs;
  for (const std::int64_t time : {kWrap - 1, kWrap, std::int64_t{1'796'100'000'000}}) {
    INFO(time);
    constexpr int kIds = 10'000;
    NewIds ids("seed", time, kIds);
    NewIds again("seed", time, kIds);
    NewIds other("another seed", time, kIds);
    std::string before;

    for (int i = 0; i < kIds; ++i) {
      const std::string id = ids.message();
      REQUIRE(id > before);
      REQUIRE(id == again.message());
      REQUIRE(id != other.message());
      REQUIRE(id_time(id));
      const auto stated = resolve_id_time(*id_time(id), time);
      REQUIRE(stated >= time);
      REQUIRE(stated <= time + 4);
      before = id;
    }
  }
  NewIds ids("seed", kWrap + 5, 2);
  const std::string session = ids.session();
  CHECK(session.starts_with("ses_"));
  CHECK(resolve_id_time(*id_time(session), kWrap) == kWrap + 5);
}

TEST_CASE("what an import would stop at is found, and removed where it can be",
          "[schema][opencode]") {
  const std::string ids = R"("id":"prt_1","sessionID":"ses_1","messageID":"msg_1",)";
  const auto fitted = [&](const std::string& fields) {
    auto part = JsonFields::parse("{" + ids + fields + "}");
    REQUIRE(part);
    return fit_part(*part);
  };

  CHECK(fitted(R"("type":"text","text":"x","later":{})").unfit.empty());
  CHECK(fitted(R"("type":"hologram")").unfit == "type");
  CHECK(fitted(R"("type":"text","text":5)").unfit == "text");
  CHECK(fitted(R"("type":"text","text":"x","ignored":null)").removed.empty());
  CHECK(fitted(R"("type":"text","text":"x","time":{"start":-1})").removed ==
        std::vector<std::string>{"time"});
  CHECK(fitted(R"("type":"tool","callID":"c","tool":"t","state":{"status":"paused"})").unfit ==
        "state");
  CHECK(fitted(R"("type":"step-finish","reason":"stop","cost":1e999,"tokens":{})").unfit == "cost");
  auto stranger = JsonFields::parse(R"({"id":"x","sessionID":"ses_1","messageID":"msg_1"})");
  stranger->set_text("type", "text");
  CHECK(fit_part(*stranger).unfit == "id");
}

}  // namespace respool::test
