#include "ingest/source/sse_source.h"

#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch.hpp>

namespace respool::test {
namespace {

using Events = std::vector<std::string>;

struct Cut {
  Events events;
  std::uint64_t dropped_bytes = 0;

  bool operator==(const Cut&) const = default;
};

// Feeds `text` in two parts, and the second part in pieces of `step` bytes.
Cut cut(std::string_view text, std::size_t first = 0, std::size_t step = std::string_view::npos) {
  Cut result;
  EventStreamCutter cutter([&](std::string_view data) -> Result<void> {
    result.events.emplace_back(data);
    return ok();
  });
  REQUIRE(cutter.feed(text.substr(0, first)));
  for (auto rest = text.substr(first); !rest.empty();) {
    const auto piece = rest.substr(0, step);
    REQUIRE(cutter.feed(piece));
    rest.remove_prefix(piece.size());
  }
  result.dropped_bytes = cutter.finish();
  return result;
}

std::string with_line_ends(std::string_view text, std::string_view line_end) {
  std::string result;
  for (const char c : text) {
    if (c == '\n') {
      result += line_end;
    } else {
      result += c;
    }
  }
  return result;
}

}  // namespace

TEST_CASE("each event of a stream is handed over as its data", "[ingest][source]") {
  const auto seen = cut("data: {\"a\":1}\n\ndata:{\"b\":2}\n\n");

  CHECK(seen.events == Events{"{\"a\":1}", "{\"b\":2}"});
  CHECK(seen.dropped_bytes == 0);
}

TEST_CASE("lines of data of one event are joined by newlines", "[ingest][source]") {
  CHECK(cut("data: one\ndata:  two\ndata\ndata:\ndata: five\n\n").events ==
        Events{"one\n two\n\n\nfive"});
}

TEST_CASE("comments, other fields and unknown lines are no data", "[ingest][source]") {
  CHECK(cut(": heartbeat\n\nevent: x\nid: 7\nretry: 10\ndata: a\nnoise\ndatabase: no\n"
            " data: no\n\n")
            .events == Events{"a"});
}

TEST_CASE("an event without data is none, one with empty data is one", "[ingest][source]") {
  CHECK(cut("event: x\n\n\n\n: only talk\n\n").events.empty());
  CHECK(cut("data\n\n").events == Events{""});
  CHECK(cut("data:\n\ndata: \n\n").events == Events{"", ""});
  CHECK(cut("data:\ndata:\n\n").events == Events{"\n"});
}

TEST_CASE("a byte order mark is skipped at the start of the stream only", "[ingest][source]") {
  CHECK(cut("\xEF\xBB\xBF"
            "data: a\n\n\xEF\xBB\xBF"
            "data: b\n\n")
            .events == Events{"a"});
  CHECK(cut("\xEF\xBB\xBF\ndata: a\n\n").events == Events{"a"});
  CHECK(cut("\xEF\xBB\xBF").events.empty());
}

TEST_CASE("every kind of line end ends a line", "[ingest][source]") {
  const std::string text = "data: a\ndata: b\n\n: c\n\ndata: d\n\n";
  const Events expected{"a\nb", "d"};

  for (const auto* line_end : {"\n", "\r", "\r\n"}) {
    CHECK(cut(with_line_ends(text, line_end)).events == expected);
  }
  CHECK(cut("data: a\r\ndata: b\n\r\ndata: d\r\r").events == expected);
  CHECK(cut("data: \xE2\x80\xA8x\n\n").events == Events{"\xE2\x80\xA8x"});
}

TEST_CASE("an event ended by a carriage return does not wait for what follows",
          "[ingest][source]") {
  Events events;
  EventStreamCutter cutter([&](std::string_view data) -> Result<void> {
    events.emplace_back(data);
    return ok();
  });

  REQUIRE(cutter.feed("data: a\r\n\r"));
  CHECK(events == Events{"a"});
  REQUIRE(cutter.feed("\ndata: b\r\n\r\n"));
  CHECK(events == Events{"a", "b"});
  CHECK(cutter.finish() == 0);
}

TEST_CASE("the cut does not depend on how the bytes arrive", "[ingest][source]") {
  const std::string text =
      "\xEF\xBB\xBF: hello\ndata: {\"a\":1}\r\n\r\ndata\rdata:  x\r\revent: y\n\ndata:\n\n"
      "database\ndata: last\ndata: whole\n\n: unfinished\ndata: par";
  const Cut whole = cut(text);
  REQUIRE(whole.events == Events{"{\"a\":1}", "\n x", "", "last\nwhole"});
  REQUIRE(whole.dropped_bytes == 22);

  for (std::size_t first = 0; first <= text.size(); ++first) {
    CHECK(cut(text, first) == whole);
  }
  for (const std::size_t step : {1U, 2U, 3U, 5U, 7U}) {
    CHECK(cut(text, 0, step) == whole);
  }
}

TEST_CASE("an event that the stream breaks off in is dropped and counted", "[ingest][source]") {
  CHECK(cut("data: a\n\ndata: b").dropped_bytes == 7);
  CHECK(cut("data: a\n\ndata: b\n").dropped_bytes == 8);
  CHECK(cut("data: a\n\ndata: b\r\n").dropped_bytes == 9);
  CHECK(cut("data: a\n\nda").dropped_bytes == 2);
  CHECK(cut("data: a\r\n\r\n").dropped_bytes == 0);
  CHECK(cut("data: a\n\n: a heartbeat without").dropped_bytes == 0);
  CHECK(cut("data: a\n\nevent: x\n").dropped_bytes == 0);
  CHECK(cut("data: a\n\ndata: b\n").events == Events{"a"});
}

TEST_CASE("after its end a cutter takes another stream from the start", "[ingest][source]") {
  Events events;
  EventStreamCutter cutter([&](std::string_view data) -> Result<void> {
    events.emplace_back(data);
    return ok();
  });

  REQUIRE(cutter.feed("data: broken off"));
  CHECK(cutter.finish() == 16);
  REQUIRE(
      cutter.feed("\xEF\xBB\xBF"
                  "data: new\n\n"));
  CHECK(cutter.finish() == 0);
  CHECK(events == Events{"new"});
}

TEST_CASE("a giant event passes whole", "[ingest][source]") {
  const std::string giant(40U << 20, 'x');

  const auto seen = cut("data: " + giant + "\n\ndata: small\n\n", 0, 64U << 10);

  REQUIRE(seen.events.size() == 2);
  CHECK((seen.events[0] == giant));
  CHECK(seen.events[1] == "small");
}

TEST_CASE("many lines that end in carriage returns take no more than linear time",
          "[ingest][source]") {
  std::string text;
  for (int i = 0; i < 400'000; ++i)
    text += "data: x\r\r";

  CHECK(cut(text).events.size() == 400'000);
}

TEST_CASE("an event above the limit is an error, one at the limit is not", "[ingest][source]") {
  Events events;
  const auto sink = [&](std::string_view data) -> Result<void> {
    events.emplace_back(data);
    return ok();
  };
  EventStreamCutter cutter(sink, 8);

  REQUIRE(cutter.feed("data: 1234\ndata: 678\n\n: a comment may be longer than that\n\n"));
  CHECK(events == Events{"1234\n678"});
  const auto above = cutter.feed("data: 12345678\ndata\n\n");

  REQUIRE(above.has_error());
  CHECK(above.error().code() == ErrorCode::InvalidArgument);
  CHECK(above.error().message() == "an event of the stream is longer than 8 bytes");
}

TEST_CASE("an error of the sink ends the feed", "[ingest][source]") {
  int calls = 0;
  EventStreamCutter cutter([&](std::string_view) -> Result<void> {
    ++calls;
    return Error(ErrorCode::Io, "full");
  });

  const auto fed = cutter.feed("data: a\n\ndata: b\n\n");

  REQUIRE(fed.has_error());
  CHECK(fed.error().message() == "full");
  CHECK(calls == 1);
}

}  // namespace respool::test
