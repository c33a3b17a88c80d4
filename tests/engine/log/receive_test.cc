#include <catch2/catch.hpp>

#include "engine/integrity/hash_chain.h"
#include "engine/log/event_log.h"
#include "engine/log/stream_cursor.h"
#include "engine/model/recorder.h"

#include "tests/support/temp_store.h"

namespace respool::test {
namespace {

const StreamName kStream{StreamKind::Session, "ses_1"};
const Origin kElsewhere{"0123456789abcdef0123456789abcdef", "elsewhere"};
const std::string kText =
    R"({"type":"text","timestamp":1796099940001,"sessionID":"ses_1","part":{"id":"prt_1","messageID":"msg_1","sessionID":"ses_1","type":"text","text":"hello"}})";

void assign(std::vector<std::uint8_t>& to, std::string_view bytes) {
  to.assign(bytes.begin(), bytes.end());
}

// An event that the origin elsewhere appended after the chain `before`, which moves on.
ReceivedEvent linked(std::string_view raw, std::string& before, bool erased = false) {
  ReceivedEvent received;
  received.stream = kStream;
  received.origin = kElsewhere;
  received.raw = raw;
  received.raw_digest = sha256(raw);
  auto& header = received.header;
  header.shape = static_cast<std::uint8_t>(Shape::RunLine);
  header.wire_type = "text";
  header.received_ms = kNow;
  header.raw_bytes = raw.size();
  header.position = 999;  // of the other store
  header.recording = 999;
  const std::string salt(16, 'a');
  const Sha256 commitment = commitment_of(salt, received.raw_digest);
  if (erased) {
    assign(header.commitment, as_bytes(commitment));
    received.raw = {};
    received.raw_digest = sha256({});
  } else {
    assign(header.salt, salt);
  }
  const Sha256 chain = chain_next(before, header, commitment);
  before = as_bytes(chain);
  assign(header.chain, as_bytes(chain));
  return received;
}

std::string beginning() {
  const Sha256 start = chain_start(kStream, kElsewhere.id);
  return std::string(as_bytes(start));
}

}  // namespace

TEST_CASE("a received event keeps what is hashed and gets numbers of the store it came to",
          "[engine][log]") {
  TempStore store;
  store.ingest(R"({"type":"text","timestamp":1,"sessionID":"ses_0","part":{}})");
  std::string chain = beginning();
  const auto recorder = value(Recorder::open(store.store()));

  const auto at = value(recorder->receive(linked(kText, chain)));
  check(recorder->finish());

  CHECK_FALSE(at.duplicate);
  CHECK(at.session.value == 2);
  CHECK(at.origin.value == 2);
  CHECK(at.event.value == 1);
  CHECK(at.position.value == 2);
  const auto view = store.store().view();
  const auto stored = value(read_event_at(view, at.position));
  CHECK(stored.raw == kText);
  CHECK(bytes_of(stored.header.chain) == chain);
  CHECK(stored.header.position == 2);
  CHECK(value(origin_id(view, at.origin)) == kElsewhere.id);
  CHECK(value(origin_host(view, at.origin)) == "elsewhere");
  CHECK(value(origin_host(view, {1})) == "test-host");
  CHECK(value(find_held(view, kStream, kElsewhere.id)).chain == chain);
  CHECK(value(find_held(view, kStream, store.store().meta().origin)).events == 0);
  CHECK(store.facts("ses_1").messages.contains("msg_1"));
  CHECK(damage_of(store.store()).empty());
  CHECK(value(store.reader().find_origin("elsewhere")) == at.origin);
  CHECK(value(store.reader().find_origin("01234")) == at.origin);
  CHECK(store.reader().find_origin("nowhere").has_error());
}

TEST_CASE("an event that does not follow from its stream's last one leaves nothing behind",
          "[engine][log]") {
  TempStore store;
  std::string chain(32, 'x');
  const auto recorder = value(Recorder::open(store.store()));

  const auto refused = recorder->receive(linked(kText, chain));
  check(recorder->finish());

  REQUIRE(refused.has_error());
  CHECK(refused.error().code() == ErrorCode::Corruption);
  CHECK_FALSE(value(find_stream(store.store().view(), kStream)));
  CHECK_FALSE(value(find_origin(store.store().view(), kElsewhere.id)));
  CHECK(damage_of(store.store()).empty());
}

TEST_CASE(
    "what another origin recorded is not appended again, and what was is received all the same",
    "[engine][log]") {
  TempStore store;
  const std::string again = kText + "\n";

  SECTION("received first") {
    std::string chain = beginning();
    const auto recorder = value(Recorder::open(store.store()));
    value(recorder->receive(linked(kText, chain)));
    check(recorder->finish());
    const auto counts = store.ingest(again);
    CHECK(counts.duplicates == 1);
    CHECK(counts.appended == 0);
  }
  SECTION("recorded first") {
    store.ingest(again);
    std::string chain = beginning();
    const auto recorder = value(Recorder::open(store.store()));
    CHECK_FALSE(value(recorder->receive(linked(kText, chain))).duplicate);
    check(recorder->finish());
    CHECK(store.ingest(again).duplicates == 1);
    CHECK(value(last_position(store.store().view())).value == 2);
  }
  CHECK(damage_of(store.store()).empty());
  check(rebuild_model(store.store()));
  CHECK(damage_of(store.store()).empty());
}

TEST_CASE("an erased event is received as one and the chain holds", "[engine][log]") {
  TempStore store;
  std::string chain = beginning();
  const auto recorder = value(Recorder::open(store.store()));

  value(recorder->receive(linked(kText, chain, true)));
  value(recorder->receive(linked(kText, chain)));
  check(recorder->finish());

  CHECK(damage_of(store.store()).empty());
  const auto first = value(read_event(store.store().view(), {1}, {2}, {1}));
  CHECK(first.raw.empty());
  CHECK(first.header.commitment.size() == 32);
  CHECK(first.header.raw_bytes == kText.size());
}

TEST_CASE("a stream read in pieces gives what was appended", "[engine][log]") {
  TempStore store;
  const std::string large(3 * kChunkBytes + 17, 'x');
  store.ingest(R"({"type":"text","sessionID":"ses_1","timestamp":1,"part":{"text":")" + large +
               "\"}}\n" + kText + "\n" +
               R"({"type":"text","sessionID":"ses_1","timestamp":2,"part":{"text":")" + large +
               "\"}}\n");
  const auto view = store.store().view();
  const auto raws = store.raw_events();
  REQUIRE(raws.size() == 3);

  StreamCursor cursor(view, {1}, {1}, {1});
  for (std::size_t event = 0; event < raws.size(); ++event) {
    REQUIRE(value(cursor.next()));
    CHECK(cursor.event().value == event + 1);
    CHECK(value(cursor.raw_bytes()) == raws[event].size());
    std::string raw;
    std::size_t largest = 0;
    while (true) {
      const auto piece = value(cursor.piece());
      if (piece.empty()) break;
      largest = std::max(largest, piece.size());
      raw += piece;
    }
    CHECK(raw == raws[event]);
    CHECK(largest <= kChunkBytes);
  }
  CHECK_FALSE(value(cursor.next()));

  // Raw bytes that nobody asks for, or not to their end, are passed over.
  StreamCursor headers(view, {1}, {1}, {1});
  REQUIRE(value(headers.next()));
  CHECK(value(headers.piece()).size() == kChunkBytes);
  REQUIRE(value(headers.next()));
  CHECK(value(headers.next())->raw_bytes == raws[2].size());
  CHECK_FALSE(value(headers.next()));

  StreamCursor later(view, {1}, {1}, {3});
  REQUIRE(value(later.next()));
  CHECK(later.event().value == 3);
}

}  // namespace respool::test
