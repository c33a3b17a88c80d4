#include "ingest/source/bundle_source.h"

#include <catch2/catch.hpp>

#include "tests/support/bundles.h"

namespace respool::test {
namespace {

const StreamName kSession{StreamKind::Session, "ses_1"};

std::string idle(const std::string& id) {
  return R"({"id":")" + id + R"(","type":"session.idle","properties":{"sessionID":"ses_1"}})";
}

BundleBuilder two_events() {
  BundleBuilder builder;
  builder.stream(kSession, {idle("evt_1"), idle("evt_2")});
  return builder;
}

// What a reader says of a bundle that is not one: the code's name and the message.
std::string refusal(std::string_view bundle) {
  const auto reading = read_bundle(bundle);
  if (!reading.error) return reading.broken ? "broken" : "whole";
  return std::string(error_code_name(reading.error->code())) + " " + reading.error->message();
}

bool says(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a bundle gives back the events it was made of, however its bytes arrive",
          "[ingest][source][bundle]") {
  const std::string bundle = two_events().event().event().finish(1, 1, 2);

  const auto reading = read_bundle(bundle);
  CHECK_FALSE(reading.error);
  CHECK_FALSE(reading.broken);
  REQUIRE(reading.events.size() == 2);
  CHECK(says(reading.events[1], idle("evt_2")));

  BundleSource in_pieces(source_of(bundle, 1), "b");
  check(in_pieces.begin());
  std::size_t items = 0;
  while (value(in_pieces.next()) != BundleSource::Item::End)
    ++items;
  CHECK(items == 3);
}

TEST_CASE("a bundle of nothing is whole", "[ingest][source][bundle]") {
  CHECK(refusal(BundleBuilder().finish(0, 0, 0)) == "whole");
}

TEST_CASE(
    "a flip of any bit of a bundle is found, and no event that was read before is another one",
    "[ingest][source][bundle]") {
  TempStore store;
  store.ingest_file(data_path("captures/1.18.33/run/text-simple.ndjson"));
  const std::string bundle = bundle_of_all(store);
  const auto whole = read_bundle(bundle);
  REQUIRE_FALSE(whole.error);

  for (std::size_t at = 0; at < bundle.size(); ++at) {
    for (const char bit : {1, 16, -128}) {
      std::string flipped = bundle;
      flipped[at] = static_cast<char>(flipped[at] ^ bit);
      const auto reading = read_bundle(flipped);
      INFO("byte " << at << " ^ " << static_cast<int>(bit));
      REQUIRE((reading.error || reading.broken));
      REQUIRE(std::equal(reading.events.begin(), reading.events.end(), whole.events.begin()));
    }
  }
}

TEST_CASE("a bundle that is cut anywhere says so", "[ingest][source][bundle]") {
  TempStore store;
  store.ingest_file(data_path("captures/1.18.33/run/text-simple.ndjson"));
  const std::string bundle = bundle_of_all(store);

  for (std::size_t size = 0; size < bundle.size(); ++size) {
    INFO("cut to " << size);
    const std::string what = refusal(std::string_view(bundle).substr(0, size));
    REQUIRE(says(what, "corruption"));
    REQUIRE(says(what, "breaks off"));
  }
  CHECK(says(refusal(bundle + "x"), "bytes follow"));
  CHECK(says(refusal(bundle + bundle), "bytes follow"));
}

TEST_CASE("a bundle of a newer format is refused, naming both", "[ingest][source][bundle]") {
  const auto what = refusal("respool bundle 7\nwhatever it is that comes then");
  CHECK(says(what, "unsupported_format"));
  CHECK(says(what, "format 7"));
  CHECK(says(what, "up to 1"));
  CHECK(says(refusal("respool bundle x\n"), "does not name"));
  CHECK(says(refusal("respool bundle 0\n"), "does not name"));
  CHECK(says(refusal("respool bundle 99999999999999\n"), "does not name"));
}

TEST_CASE("blocks that claim too much are refused before they are read",
          "[ingest][source][bundle]") {
  const std::string mark = "respool bundle 1\n";
  const auto head = [](char kind, std::uint64_t plain, std::uint64_t stored) {
    return std::string(1, kind) + big_endian<4>(plain) + big_endian<4>(stored);
  };
  for (const auto& bad : {head('z', 0xFFFFFFFF, 100),
                          head('z', kBundleBlockBytes + 1, 100),
                          head('z', 100, 100),
                          head('z', 100, 0xFFFFFFFF),
                          head('p', 0xFFFFFFFF, 0xFFFFFFFF),
                          head('p', 10, 9),
                          head('p', 0, 0),
                          head('e', 0, 57),
                          head('e', 1, 56),
                          head('q', 10, 10)}) {
    CHECK(says(refusal(mark + bad + std::string(1000, 'x')), "the block's head is damaged"));
  }
  // A whole block that unpacks to more, or less, than it says.
  const std::string bundle = two_events().event().event().finish(1, 1, 2);
  for (const int difference : {-1, 1}) {
    std::string other = bundle;
    const std::size_t at = mark.size();
    REQUIRE(other[at] == 'z');
    const std::uint64_t stored = from_big_endian(other.substr(at + 5, 4));
    const std::uint64_t plain = from_big_endian(other.substr(at + 1, 4));
    other.replace(at + 1, 4, big_endian<4>(plain + static_cast<std::uint64_t>(difference)));
    const std::string frame = other.substr(at, 9 + stored);
    other.replace(at + 9 + stored, 8, big_endian<8>(content_hash(frame)));
    CHECK(says(refusal(other), "does not unpack"));
  }
}

TEST_CASE("records in an order or number that no store writes are refused",
          "[ingest][source][bundle]") {
  const std::vector<std::string> raws{idle("evt_1"), idle("evt_2")};
  const StreamName other{StreamKind::Session, "ses_2"};

  SECTION("an event is left out at the end") {
    CHECK(
        says(refusal(two_events().event().finish(1, 1, 1)), "event 2 of stream ses_1 is missing"));
  }
  SECTION("an event is left out before the next stream") {
    const auto bundle = two_events().event().stream(other, raws).event().event().finish(2, 2, 3);
    CHECK(says(refusal(bundle), "event 2 of stream ses_1 is missing"));
  }
  SECTION("an event more than announced") {
    CHECK(
        says(refusal(two_events().event().event().event(0).finish(1, 1, 3)), "no stream has one"));
  }
  SECTION("an event before any stream") {
    CHECK(says(refusal(two_events().bytes("").finish(0, 0, 0)), "missing"));
    BundleBuilder builder;
    builder.event(fb::EventHeaderT{}, "x");
    CHECK(says(refusal(builder.finish(0, 0, 1)), "no stream has one"));
  }
  SECTION("events in another order") {
    CHECK(refusal(two_events().event(1).event(0).finish(1, 1, 2)) == "broken");
  }
  SECTION("a stream twice") {
    auto builder = two_events();
    const auto bundle =
        builder.event().event().stream(kSession, raws).event().event().finish(1, 2, 4);
    CHECK(says(refusal(bundle), "twice or out of order"));
  }
  SECTION("streams out of order") {
    BundleBuilder builder;
    builder.stream(other, raws).event().event();
    CHECK(says(refusal(builder.stream(kSession, raws).event().event().finish(2, 2, 4)),
               "twice or out of order"));
  }
  SECTION("another number of streams, sessions or events than the head says") {
    CHECK(says(refusal(two_events().event().event().finish(1, 2, 2)), "another number"));
    CHECK(says(refusal(two_events().event().event().finish(2, 1, 2)), "another number"));
    CHECK(says(refusal(two_events().event().event().finish(1, 1, 3)), "another number"));
  }
  SECTION("a record of an unknown kind") {
    CHECK(says(refusal(two_events().event().event().bytes("?").finish(1, 1, 2)), "unknown kind"));
  }
}

TEST_CASE("names, numbers and rows that mean nothing are refused", "[ingest][source][bundle]") {
  const std::vector<std::string> raws{idle("evt_1")};
  const auto with = [&](auto change) {
    BundleBuilder builder;
    return refusal(builder.stream(kSession, raws, change).event().finish(1, 1, 1));
  };
  using Row = fb::BundleStreamT;

  CHECK(with([](Row&) {}) == "whole");
  CHECK(says(with([](Row& row) { row.kind = 'x'; }), "name"));
  CHECK(says(with([](Row& row) { row.kind = 0; }), "name"));
  CHECK(says(with([](Row& row) { row.name = ""; }), "name"));
  CHECK(says(with([](Row& row) { row.name = "../../etc/passwd"; }), "name"));
  CHECK(says(with([](Row& row) { row.name = "ses\n1"; }), "name"));
  CHECK(says(with([](Row& row) { row.name = std::string(300, 's'); }), "name"));
  CHECK(says(with([](Row& row) {
               row.kind = 'h';
               row.name = std::string("ho\x1bst");
             }),
             "name"));
  CHECK(says(with([](Row& row) { row.origin = "short"; }), "name"));
  CHECK(says(with([](Row& row) { row.origin = std::string(32, 'G'); }), "name"));
  CHECK(says(with([](Row& row) { row.first = 0; }), "not described"));
  CHECK(says(with([](Row& row) { row.first = 2; }), "not described"));
  CHECK(says(with([](Row& row) { row.last = 0; }), "not described"));
  CHECK(says(with([](Row& row) { row.head.resize(31); }), "not described"));
  CHECK(says(with([](Row& row) { row.before.assign(32, 1); }), "not described"));
  CHECK(says(with([](Row& row) { row.last = ~0ULL; }), "missing"));
  CHECK(with([](Row& row) { row.head.assign(32, 1); }) == "broken");

  BundleBuilder rows;
  CHECK(says(refusal(rows.record('S', "no row").finish(0, 0, 0)), "row cannot be read"));
  BundleBuilder giant;
  CHECK(says(refusal(giant.bytes("S" + big_endian<4>(0xFFFFFFFF)).finish(0, 0, 0)), "longer"));
  CHECK(says(
      refusal(
          two_events().bytes("E" + big_endian<4>(0xFFFFFFFF) + big_endian<8>(1)).finish(1, 1, 2)),
      "longer"));
  CHECK(says(
      refusal(two_events().bytes("E" + big_endian<4>(8) + big_endian<8>(~0ULL)).finish(1, 1, 2)),
      "longer"));
  CHECK(says(refusal(two_events()
                         .bytes("E" + big_endian<4>(8) + big_endian<8>(1) + "xxxxxxxxx")
                         .finish(1, 1, 2)),
             "header cannot be read"));
}

TEST_CASE("an event that is not what its chain says ends its stream and no other",
          "[ingest][source][bundle]") {
  const std::vector<std::string> raws{idle("evt_1"), idle("evt_2")};
  const StreamName other{StreamKind::Session, "ses_2"};
  const auto spoiled = [&](auto change) {
    BundleBuilder builder;
    builder.stream(kSession, raws).event();
    fb::EventHeaderT header = builder.header(1);
    std::string raw = raws[1];
    change(header, raw);
    builder.event(header, raw).stream(other, raws).event().event();
    return read_bundle(builder.finish(2, 2, 4));
  };
  using Header = fb::EventHeaderT;
  const auto kept = [](const BundleReading& reading) {
    return reading.broken && !reading.error && reading.events.size() == 3;
  };

  CHECK(kept(spoiled([](Header&, std::string& raw) { raw[8] = 'X'; })));
  CHECK(kept(spoiled([](Header&, std::string& raw) { raw += " "; })));
  CHECK(kept(spoiled([](Header& header, std::string&) { header.time_ms = 5; })));
  CHECK(kept(spoiled([](Header& header, std::string&) { header.host = "elsewhere"; })));
  CHECK(kept(spoiled([](Header& header, std::string&) { header.run = "run"; })));
  CHECK(kept(spoiled([](Header& header, std::string&) { header.wire_type = "x"; })));
  CHECK(kept(spoiled([](Header& header, std::string&) { header.salt.clear(); })));
  CHECK(kept(spoiled([](Header& header, std::string&) { header.salt.resize(4096); })));
  CHECK(kept(spoiled([](Header& header, std::string&) { header.chain.clear(); })));
  CHECK(kept(spoiled([](Header& header, std::string&) { header.commitment.assign(5, 1); })));
  CHECK(kept(spoiled([](Header& header, std::string&) { header.shape = 200; })));
}

TEST_CASE("a bundle that unpacks to far more than it holds takes bounded memory",
          "[ingest][source][bundle]") {
  // 40 MiB of zeros in a few KiB: above what is kept in memory.
  const std::string zeros(40 << 20, '\0');
  BundleBuilder builder;
  const std::string bundle = builder.stream(kSession, {zeros}).event().finish(1, 1, 1);
  REQUIRE(bundle.size() < (64 << 10));

  BundleSource source(source_of(bundle), "b");
  check(source.begin());
  REQUIRE(value(source.next()) == BundleSource::Item::Stream);
  REQUIRE(value(source.next()) == BundleSource::Item::Event);
  CHECK(source.event().raw == zeros);
  CHECK(value(source.next()) == BundleSource::Item::End);
}

}  // namespace respool::test
