#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "schema/digest.h"

#include "engine/integrity/hash_chain.h"
#include "engine/integrity/verify.h"
#include "engine/storage/keys.h"

#include "tests/support/process.h"
#include "tests/support/temp_store.h"

namespace respool::test {
namespace {

// Verifies a closed store as the command does: the seal first, then everything inside.
struct Verdict {
  bool whole = false;
  std::string what;
};

Verdict verdict(const fs::path& directory) {
  const auto seal = verify_seal(directory);
  if (!seal) return {false, seal.error().message()};
  if (seal.value().damage) return {false, seal.value().damage->what};
  const auto store =
      Store::open({.directory = directory, .host = "test-host", .purpose = "test"}, Access::Read);
  if (!store) return {false, store.error().message()};
  const auto report = verify_store(*store.value(), std::nullopt);
  if (!report) return {false, report.error().message()};
  if (report.value().damages.empty()) return {true, ""};
  const auto& damage = report.value().damages.front();
  return {
      false,
      fmt::format("{} {} {}", damage.stream, damage.event ? damage.event->value : 0, damage.what)};
}

void small_history(TempStore& store) {
  store.ingest_file(data_path("captures/1.18.33/run/tool-bash.ndjson"));
  store.ingest_file(data_path("captures/1.18.33/run/text-simple.ndjson"));
}

bool is_data_file(const std::string& name) {
  return name.ends_with(".sst") || name.ends_with(".log") || name.starts_with("MANIFEST-") ||
         name == "CURRENT";
}

// Puts another event in place of `event`, consistent in itself, through the storage layer.
void replace_event(Store& store, const StoredEvent& event, const std::string& raw) {
  fb::EventHeaderT header = event.header;
  header.raw_bytes = raw.size();
  const std::string encoded = encode(header);
  std::string length;
  for (int shift = 24; shift >= 0; shift -= 8)
    length.push_back(static_cast<char>(encoded.size() >> shift & 255));
  WriteUnit unit(store);
  unit.put(
      Family::Log, keys::event(event.session, event.origin, event.event), {length, encoded, raw});
  check(store.commit(unit, Durability::Synced));
}

}  // namespace

TEST_CASE("an untouched store is whole", "[engine][integrity]") {
  TempStore store;
  small_history(store);
  store.ingest_file(data_path("captures/1.18.33/serve/fork/event.sse"));
  store.close();

  const auto result = verdict(store.path() / "store");

  INFO(result.what);
  CHECK(result.whole);
}

TEST_CASE("a flip of any byte of any data file is found", "[engine][integrity]") {
  TempStore store;
  small_history(store);
  store.close();
  const auto directory = store.path() / "store";
  REQUIRE(verdict(directory).whole);
  std::size_t flips = 0;
  for (const auto& entry : fs::directory_iterator(directory / "db")) {
    if (!is_data_file(entry.path().filename().string())) continue;
    const std::string bytes = read_file(entry.path());
    for (std::size_t at = 0; at < bytes.size(); ++at) {
      std::string damaged = bytes;
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << (at % 8)));
      write_file(entry.path(), damaged);
      ++flips;
      INFO(entry.path().filename().string() << " byte " << at);
      const auto result = verdict(directory);
      CHECK_FALSE(result.whole);
      CHECK(result.what.find(entry.path().filename().string()) != std::string::npos);
    }
    write_file(entry.path(), bytes);
  }
  CHECK(flips > 5000);
  CHECK(verdict(directory).whole);
}

TEST_CASE("an event replaced by another valid one is found by the chain, by stream and number",
          "[engine][integrity]") {
  TempStore store;
  store.ingest_file(data_path("captures/1.18.33/run/tool-bash.ndjson"));
  const auto session = store.session_ids().front();
  const auto event = value(read_event(store.store().view(), store.number(session), {1}, {3}));
  std::string raw = event.raw;
  raw.replace(raw.find("\"sessionID\""), 11, "\"sessionId\"");

  replace_event(store.store(), event, raw);

  const auto report = value(verify_store(store.store(), std::nullopt));
  REQUIRE_FALSE(report.damages.empty());
  CHECK(report.damages.front().stream == session);
  REQUIRE(report.damages.front().event.has_value());
  CHECK(report.damages.front().event->value == 3);
}

TEST_CASE("a replaced event with a chain made to fit is found at the next one",
          "[engine][integrity]") {
  TempStore store;
  store.ingest_file(data_path("captures/1.18.33/run/tool-bash.ndjson"));
  const auto session = store.session_ids().front();
  const auto view = store.store().view();
  const auto before = value(read_event(view, store.number(session), {1}, {2}));
  auto event = value(read_event(view, store.number(session), {1}, {3}));
  const std::string raw = event.raw + " ";
  const std::string salt(event.header.salt.begin(), event.header.salt.end());
  const std::string previous(before.header.chain.begin(), before.header.chain.end());
  const Sha256 chain = chain_next(previous, event.header, commitment_of(salt, sha256(raw)));
  event.header.chain.assign(chain.begin(), chain.end());

  replace_event(store.store(), event, raw);

  const auto report = value(verify_store(store.store(), std::nullopt));
  REQUIRE_FALSE(report.damages.empty());
  REQUIRE(report.damages.front().event.has_value());
  CHECK(report.damages.front().event->value == 4);
}

TEST_CASE("an event taken away is found, and a model that was changed", "[engine][integrity]") {
  TempStore store;
  store.ingest_file(data_path("captures/1.18.33/run/tool-bash.ndjson"));
  const auto number = store.number(store.session_ids().front());

  SECTION("an event from the middle") {
    WriteUnit unit(store.store());
    unit.erase(Family::Log, keys::event(number, {1}, {2}));
    check(store.store().commit(unit, Durability::Synced));
  }
  SECTION("the last event") {
    const auto head = value(decode<fb::StreamHeadT>(
        *value(store.store().view().get(Family::Index, keys::head(number, {1}))), "head"));
    WriteUnit unit(store.store());
    unit.erase(Family::Log, keys::event(number, {1}, {head.events}));
    check(store.store().commit(unit, Durability::Synced));
  }
  SECTION("a total") {
    auto totals = value(decode<fb::TotalsRowT>(
        *value(store.store().view().get(Family::Model, keys::totals_row(number))), "totals"));
    totals.usage->cost_nanos += 1;
    WriteUnit unit(store.store());
    unit.put(Family::Model, keys::totals_row(number), encode(totals));
    check(store.store().commit(unit, Durability::Synced));
  }
  SECTION("a fact") {
    auto row = value(decode<fb::SessionRowT>(
        *value(store.store().view().get(Family::Model, keys::session_row(number))), "session"));
    row.title = "another";
    WriteUnit unit(store.store());
    unit.put(Family::Model, keys::session_row(number), encode(row));
    check(store.store().commit(unit, Durability::Synced));
  }

  CHECK_FALSE(value(verify_store(store.store(), std::nullopt)).damages.empty());
}

}  // namespace respool::test
