#include <unistd.h>

#include <catch2/catch.hpp>
#include <sys/stat.h>
#include <sys/wait.h>

#include "schema/digest.h"

#include "engine/model/recorder.h"
#include "engine/storage/keys.h"

#include "tests/support/process.h"
#include "tests/support/temp_store.h"

namespace respool::test {
namespace {

StoreOptions options(const fs::path& path) {
  return {.directory = path, .host = "test-host", .purpose = "test", .now_ms = kNow};
}

}  // namespace

TEST_CASE("a second writer is refused and told who has the store", "[engine][storage]") {
  TempStore store;

  const auto second = Store::open(options(store.path() / "store"), Access::Write);

  REQUIRE(second.has_error());
  CHECK(second.error().code() == ErrorCode::StoreBusy);
  CHECK(second.error().message().find("test-host") != std::string::npos);
}

TEST_CASE("a reader beside a writer sees a fixed view of what was committed", "[engine][storage]") {
  TempStore store;
  store.ingest_file(data_path("captures/1.18.33/run/text-simple.ndjson"));
  const auto reader = value(Store::open(options(store.path() / "store"), Access::Read));
  const auto before = value(last_position(reader->view()));
  REQUIRE(before.value > 0);

  store.ingest(corpus_file("events.sse"));

  CHECK(value(last_position(reader->view())) == before);
  const auto later = value(Store::open(options(store.path() / "store"), Access::Read));
  CHECK(value(last_position(later->view())).value == before.value + 15'753);
}

TEST_CASE("a store of a newer format is refused, naming both versions", "[engine][storage]") {
  TempStore store;
  store.ingest_file(data_path("captures/1.18.33/run/text-simple.ndjson"));
  store.close();
  write_file(store.path() / "store" / "format", "respool store format 2\n");

  for (const auto access : {Access::Read, Access::Write}) {
    const auto opened = Store::open(options(store.path() / "store"), access);
    REQUIRE(opened.has_error());
    CHECK(opened.error().code() == ErrorCode::UnsupportedFormat);
    CHECK(opened.error().message().find("format 2") != std::string::npos);
  }
}

TEST_CASE("a store is its owner's alone", "[engine][storage]") {
  TempStore store;
  struct stat info {};

  REQUIRE(::stat((store.path() / "store").c_str(), &info) == 0);

  CHECK((info.st_mode & 0777) == 0700);
}

TEST_CASE("a store left without a close loses nothing that was synced",
          "[engine][storage][crash]") {
  TempStore store;
  store.ingest(corpus_file("events.sse"));
  const std::string before = dump_model(store.reader());
  const TempDir copy;
  // What a crash leaves: the files as they are while the writer still runs.
  fs::copy(store.path() / "store", copy.path() / "store", fs::copy_options::recursive);

  const auto crashed = value(Store::open(options(copy.path() / "store"), Access::Write));

  const auto recorder = value(Recorder::open(*crashed));
  CHECK((dump_model(StoreReader(*crashed)) == before));
  check(recorder->finish());
}

TEST_CASE("a store whose making is killed at any moment can be made by the next writer",
          "[engine][storage][crash]") {
  for (int round = 0; round < 40; ++round) {
    INFO("killed after " << round * 400 << " microseconds");
    const TempDir dir;
    run_respool_and_kill({"ingest",
                          "--store",
                          (dir.path() / "store").string(),
                          data_path("captures/1.18.33/run/text-simple.ndjson").string()},
                         static_cast<unsigned>(round) * 400);

    const auto again = value(Store::open(options(dir.path() / "store"), Access::Write));
    const auto recorder = value(Recorder::open(*again));
    Ingester ingester(*recorder, test_options());
    check(ingester.read_bytes(read_file(data_path("captures/1.18.33/run/text-simple.ndjson")),
                              "again"));
    check(recorder->finish());

    CHECK(value(StoreReader(*again).sessions()).size() == 1);
    CHECK(damage_of(*again) == "");
  }
}

TEST_CASE("an ingest killed at any moment loses nothing it had, and the next one completes it",
          "[engine][storage][crash]") {
  const TempDir input;
  write_file(input.path() / "events.sse", corpus_file("events.sse"));
  const auto expected = delivered_lines(corpus_file("events.sse"));
  const TempDir dir;
  for (int round = 0; round < 12; ++round) {
    run_respool_and_kill({"ingest",
                          "--store",
                          (dir.path() / "store").string(),
                          (input.path() / "events.sse").string()},
                         20'000 + static_cast<unsigned>(round) * 25'000);
  }
  const auto store = value(Store::open(options(dir.path() / "store"), Access::Write));
  const auto recorder = value(Recorder::open(*store));
  CHECK(damage_of(*store) == "");
  Ingester ingester(*recorder, test_options());
  check(ingester.read_bytes(corpus_file("events.sse"), "again"));
  check(recorder->finish());

  CHECK(value(last_position(store->view())).value == expected.size());
  CHECK(damage_of(*store) == "");
}

TEST_CASE("a write-ahead log cut at any place opens to a whole prefix",
          "[engine][storage][crash]") {
  TempStore store;
  const auto lines =
      delivered_lines(read_file(data_path("captures/1.18.33/serve/revert/event.sse")));
  for (const auto& line : lines)
    store.ingest(line + "\n");
  const auto all = store.raw_events();
  fs::path log;
  for (const auto& entry : fs::directory_iterator(store.path() / "store" / "db")) {
    if (entry.path().extension() == ".log" && fs::file_size(entry.path()) > 0) log = entry.path();
  }
  REQUIRE_FALSE(log.empty());
  const auto size = fs::file_size(log);
  for (std::uint64_t part = 0; part < 40; ++part) {
    const auto keep = size * part / 40;
    INFO("kept " << keep << " of " << size);
    const TempDir copy;
    fs::copy(store.path() / "store", copy.path() / "store", fs::copy_options::recursive);
    fs::resize_file(copy.path() / "store" / "db" / log.filename(), keep);

    const auto cut = value(Store::open(options(copy.path() / "store"), Access::Write));
    const auto recorder = value(Recorder::open(*cut));

    const StoreReader reader(*cut);
    const auto last = value(last_position(reader.view()));
    REQUIRE(last.value <= all.size());
    for (std::uint64_t at = 1; at <= last.value; ++at)
      CHECK(value(read_event_at(reader.view(), {at})).raw == all[at - 1]);
    CHECK_FALSE(value(reader.model_is_stale()));
    check(recorder->finish());
  }
}

TEST_CASE("a model of an older fold is renewed by the next writer, and readers say so until then",
          "[engine][model]") {
  TempStore store;
  store.ingest_file(data_path("captures/1.18.33/serve/revert/event.sse"));
  const std::string before = dump_model(store.reader());
  auto checkpoint = value(read_checkpoint(store.store().view()));
  checkpoint.fold_version = 0;
  WriteUnit unit(store.store());
  unit.put(Family::Model, keys::checkpoint(), encode(checkpoint));
  check(store.store().commit(unit, Durability::Synced));
  CHECK(value(store.reader().model_is_stale()));

  value(Recorder::open(store.store()));

  CHECK_FALSE(value(store.reader().model_is_stale()));
  CHECK((dump_model(store.reader()) == before));
}

TEST_CASE("an unfinished rebuild leaves the live model as it was", "[engine][model]") {
  TempStore store;
  store.ingest_file(data_path("captures/1.18.33/serve/revert/event.sse"));
  const std::string before = dump_model(store.reader());
  check(store.store().start_next_model());
  store.close();

  store.reopen();

  CHECK((dump_model(store.reader()) == before));
  check(rebuild_model(store.store()));
  CHECK((dump_model(store.reader()) == before));
}

TEST_CASE("two stores of the same observations have different origins and salts",
          "[engine][integrity]") {
  TempStore a;
  TempStore b;
  a.ingest_file(data_path("captures/1.18.33/run/text-simple.ndjson"));
  b.ingest_file(data_path("captures/1.18.33/run/text-simple.ndjson"));

  CHECK(a.store().meta().origin != b.store().meta().origin);
  const auto first_a = value(read_event_at(a.store().view(), {1}));
  const auto first_b = value(read_event_at(b.store().view(), {1}));
  CHECK(first_a.raw == first_b.raw);
  CHECK(first_a.header.salt != first_b.header.salt);
  CHECK(first_a.header.chain != first_b.header.chain);
}

TEST_CASE("keys read back as they were built, in the order of their numbers", "[engine][storage]") {
  const auto low = keys::event({1}, {2}, {255});
  const auto high = keys::event({1}, {2}, {256});
  CHECK(low < high);
  CHECK(high < keys::event_chunk({1}, {2}, {256}, 0));
  CHECK(keys::event_chunk({1}, {2}, {256}, 7) < keys::event({1}, {2}, {257}));
  const auto parsed = keys::parse_event(keys::event_chunk({3}, {4}, {5}, 6));
  REQUIRE(parsed.has_value());
  CHECK(parsed->is_chunk);
  CHECK(parsed->session == SessionNumber{3});
  CHECK(parsed->origin == OriginNumber{4});
  CHECK(parsed->event == EventNumber{5});
  CHECK(to_hex(keys::event({1}, {2}, {3})) == "0000000000000001000000020000000000000003");
  CHECK(to_hex(keys::stream_name({StreamKind::Session, "ses_1"})) == to_hex("nsses_1"));
  CHECK(to_hex(keys::head({1}, {2})) == "68000000000000000100000002");
  CHECK(to_hex(keys::position({9})) == "700000000000000009");
  CHECK(to_hex(keys::rollup(1, {2}, "x")) ==
        "040000000100000000000000"
        "0278");
  CHECK(keys::after_prefix("a\xFF") == "b");
  CHECK(keys::after_prefix("").empty());
}

}  // namespace respool::test
