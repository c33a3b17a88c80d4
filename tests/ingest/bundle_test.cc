#include <random>

#include <catch2/catch.hpp>

#include "engine/storage/keys.h"

#include "tests/support/bundles.h"
#include "tests/support/recording_text.h"

namespace respool::test {
namespace {

const fs::path kEdit = data_path("captures/1.18.33/serve/tools-edit/event.sse");
const fs::path kEditGlobal = data_path("captures/1.18.33/serve/tools-edit/global-event.sse");

BundleRequest since(std::uint64_t position) {
  return {.all = true, .sessions = {}, .since = LogPosition{position}};
}

// Text that does not compress.
std::string noise(std::size_t bytes, unsigned seed) {
  std::mt19937 random(seed);
  std::string text(bytes, '\0');
  for (char& c : text)
    c = static_cast<char>('!' + random() % 90);
  for (char& c : text)
    if (c == '"' || c == '\\') c = '.';
  return text;
}

std::string line_with(const std::string& session, int number, const std::string& text) {
  const std::string line = run_line(session, number, 1);
  return line.substr(0, line.rfind('x')) + text + line.substr(line.rfind('x') + 1);
}

// A store whose bundle has several blocks.
void large_history(TempStore& store) {
  for (unsigned session = 1; session <= 3; ++session) {
    std::string lines;
    for (int number = 0; number < 6; ++number)
      lines += line_with("ses_" + std::to_string(session),
                         number,
                         noise(180'000, session * 100 + static_cast<unsigned>(number))) +
               "\n";
    store.ingest(lines);
  }
}

std::vector<std::string> messages_of(const IngestCounts& counts) {
  std::vector<std::string> messages;
  for (const auto& problem : counts.problems)
    messages.push_back(problem.message() + " | " + problem.next());
  return messages;
}

bool contains(const std::vector<std::string>& all, const std::vector<std::string>& some) {
  return std::ranges::all_of(some,
                             [&](const auto& one) { return std::ranges::count(all, one) == 1; });
}

}  // namespace

TEST_CASE("a store that received another one whole has its heads, and is whole",
          "[ingest][bundle]") {
  TempStore a;
  for (const auto& capture : serve_captures())
    a.ingest_file(capture / "event.sse");
  for (const auto& file : captures("run", ".ndjson"))
    a.ingest_file(file);
  const std::string bundle = bundle_of_all(a);
  CHECK(bundle_of_all(a) == bundle);

  TempStore b;
  const auto counts = take_bundle(b, bundle);

  CHECK(messages_of(counts).empty());
  CHECK(counts.appended == value(last_position(a.store().view())).value);
  CHECK(counts.duplicates == 0);
  CHECK(heads_of(b) == heads_of(a));
  CHECK(damage_of(b.store()).empty());
  CHECK(b.session_ids() == a.session_ids());

  const auto again = take_bundle(b, bundle);
  CHECK(again.appended == 0);
  CHECK(again.duplicates == counts.appended);

  // Back home it changes nothing.
  const std::string back = bundle_of_all(b);
  const auto home = take_bundle(a, back);
  CHECK(home.appended == 0);
  CHECK(home.duplicates == counts.appended);
  CHECK(bundle_of_all(a) == bundle);

  // Over another store the same arrives.
  TempStore c;
  take_bundle(c, back);
  CHECK(heads_of(c) == heads_of(a));
  CHECK(dump_model(c.reader()) == dump_model(b.reader()));
}

TEST_CASE(
    "two stores that recorded one session apart hold both streams after an exchange, and count "
    "once",
    "[ingest][bundle]") {
  TempStore a;
  TempStore b;
  TempStore both;
  a.ingest_file(kEdit);
  b.ingest_file(kEditGlobal);
  both.ingest_file(kEdit);
  both.ingest_file(kEditGlobal);
  const std::string from_a = bundle_of_all(a);
  const std::string from_b = bundle_of_all(b);
  const auto heads_a = heads_of(a);
  const auto heads_b = heads_of(b);

  CHECK(messages_of(take_bundle(a, from_b)).empty());
  CHECK(messages_of(take_bundle(b, from_a)).empty());

  CHECK(heads_of(a) == heads_of(b));
  CHECK(contains(heads_of(a), heads_a));
  CHECK(contains(heads_of(a), heads_b));
  CHECK(damage_of(a.store()).empty());
  CHECK(damage_of(b.store()).empty());
  const auto expected = value(both.reader().sessions());
  for (TempStore* store : {&a, &b}) {
    const auto sessions = value(store->reader().sessions());
    REQUIRE(sessions.size() == expected.size());
    for (const auto& entry : sessions) {
      const auto same =
          std::ranges::find(expected, entry.row.id, [](const auto& other) { return other.row.id; });
      REQUIRE(same != expected.end());
      CHECK(*entry.totals.usage == *same->totals.usage);
      CHECK(entry.totals.messages == same->totals.messages);
      CHECK(entry.totals.tool_calls == same->totals.tool_calls);
      CHECK(entry.row.origins.size() == 2);
    }
    check(rebuild_model(store->store()));
    CHECK(damage_of(store->store()).empty());
  }

  // What one of them reads itself later was delivered already.
  CHECK(a.ingest_file(kEditGlobal).appended == 0);
  CHECK(b.ingest_file(kEdit).appended == 0);
}

TEST_CASE(
    "stores that saw every capture from two sides are one after an exchange, unreadable lines too",
    "[ingest][bundle]") {
  TempStore a;
  TempStore b;
  const std::string cut =
      R"({"type":"text","timestamp":1796099940001,"sessionID":"ses_x","part":{"c)";
  a.ingest("not json\n" + cut + "\n");
  b.ingest("neither\nnot json\n" + cut + "\n");
  for (const auto& file : captures("run", ".ndjson"))
    a.ingest_file(file);
  for (const auto& capture : serve_captures()) {
    a.ingest_file(capture / "event.sse");
    b.ingest_file(capture / "global-event.sse");
  }
  for (const auto& file : captures("store", ".json"))
    b.ingest_file(file);
  const std::string from_a = bundle_of_all(a);

  CHECK(messages_of(take_bundle(a, bundle_of_all(b))).empty());
  CHECK(messages_of(take_bundle(b, from_a)).empty());

  CHECK(heads_of(a) == heads_of(b));
  CHECK(damage_of(a.store()).empty());
  CHECK(damage_of(b.store()).empty());
}

TEST_CASE("a bundle of what came later fits where everything before it is, and nowhere else",
          "[ingest][bundle]") {
  TempStore a;
  a.ingest(run_line("ses_1", 1) + "\n" + run_line("ses_2", 1) + "\n");
  const std::string first = bundle_of_all(a);
  a.ingest(run_line("ses_1", 2) + "\n" + run_line("ses_3", 1) + "\n");
  const std::string second = bundle_of(a, since(2));
  a.ingest(run_line("ses_1", 3) + "\n");
  const std::string third = bundle_of(a, since(4));

  TempStore b;
  take_bundle(b, first);
  CHECK(take_bundle(b, second).appended == 2);
  CHECK(take_bundle(b, third).appended == 1);
  CHECK(heads_of(b) == heads_of(a));
  CHECK(take_bundle(b, second).duplicates == 2);
  CHECK(take_bundle(b, first).duplicates == 2);
  CHECK(damage_of(b.store()).empty());

  TempStore c;
  const auto early = take_bundle(c, second);
  CHECK(early.appended == 1);  // ses_3, from its first event on
  REQUIRE(early.problems.size() == 1);
  const auto message = messages_of(early).front();
  CHECK(message.find("ses_1") != std::string::npos);
  CHECK(message.find("after event 1, this store holds nothing of it") != std::string::npos);
  CHECK(message.find("respool export ses_1") != std::string::npos);
  take_bundle(c, first);
  const auto gap = take_bundle(c, third);
  REQUIRE(gap.problems.size() == 1);
  CHECK(messages_of(gap).front().find("after event 2, this store holds its first 1") !=
        std::string::npos);

  CHECK(read_bundle(bundle_of(a, since(5))).events.empty());
  const auto beyond = write_bundle(a.reader(), since(6), [](std::string_view) { return ok(); });
  REQUIRE(beyond.has_error());
  CHECK(beyond.error().code() == ErrorCode::InvalidArgument);
}

TEST_CASE("a stream that diverges is refused whole, and the others are taken", "[ingest][bundle]") {
  // A store, copied, and each copy went on by itself.
  TempStore a;
  a.ingest(run_line("ses_1", 1) + "\n");
  a.close();
  TempStore b;
  b.close();
  fs::remove_all(b.path() / "store");
  fs::copy(a.path() / "store", b.path() / "store", fs::copy_options::recursive);
  a.reopen();
  b.reopen();
  a.ingest(run_line("ses_1", 2) + "\n" + run_line("ses_1", 3) + "\n" + run_line("ses_2", 1) + "\n");
  b.ingest(run_line("ses_1", 9) + "\n");
  const auto before = heads_of(b);

  const auto counts = take_bundle(b, bundle_of_all(a));

  REQUIRE(counts.problems.size() == 1);
  CHECK(counts.problems.front().code() == ErrorCode::Corruption);
  CHECK(messages_of(counts).front().find("stream ses_1") != std::string::npos);
  CHECK(messages_of(counts).front().find("event 2 is another one here") != std::string::npos);
  CHECK(counts.appended == 1);
  CHECK(contains(heads_of(b), before));
  CHECK(heads_of(b).size() == 2);
  CHECK(damage_of(b.store()).empty());
}

TEST_CASE("a store set back to an older state gets its own events back, and goes on from there",
          "[ingest][bundle]") {
  TempStore a;
  a.ingest(run_line("ses_1", 1) + "\n");
  a.close();
  TempStore old;
  old.close();
  fs::remove_all(old.path() / "store");
  fs::copy(a.path() / "store", old.path() / "store", fs::copy_options::recursive);
  a.reopen();
  old.reopen();
  a.ingest(run_line("ses_1", 2) + "\n" + run_line("ses_2", 1) + "\n");

  const auto counts = take_bundle(old, bundle_of_all(a));

  CHECK(messages_of(counts).empty());
  CHECK(counts.appended == 2);
  CHECK(heads_of(old) == heads_of(a));
  CHECK(old.ingest(run_line("ses_1", 2) + "\n").duplicates == 1);
  CHECK(old.ingest(run_line("ses_1", 3) + "\n").appended == 1);
  CHECK(damage_of(old.store()).empty());
  // What it appended after that is a continuation for whoever had the rest.
  CHECK(take_bundle(a, bundle_of_all(old)).appended == 1);
  CHECK(heads_of(old) == heads_of(a));
}

TEST_CASE("of a bundle that breaks off everything whole is kept, and the whole one completes it",
          "[ingest][bundle]") {
  TempStore a;
  large_history(a);
  const std::string bundle = bundle_of_all(a);
  const auto whole = read_bundle(bundle).events;
  auto cuts = block_borders(bundle);
  REQUIRE(cuts.size() > 4);
  cuts.pop_back();
  std::mt19937 random(5);
  for (int i = 0; i < 6; ++i)
    cuts.push_back(20 + random() % (bundle.size() - 20));

  for (const std::size_t cut : cuts) {
    INFO("cut to " << cut << " of " << bundle.size());
    TempStore b;
    const auto counts = take_bundle(b, std::string_view(bundle).substr(0, cut));
    REQUIRE(counts.problems.size() == 1);
    CHECK(messages_of(counts).front().find("breaks off") != std::string::npos);
    CHECK(messages_of(counts).front().find("byte ") != std::string::npos);
    CHECK(damage_of(b.store()).empty());
    const auto kept = read_bundle(bundle_of_all(b)).events;
    CHECK(kept.size() == counts.appended);
    CHECK(std::equal(kept.begin(), kept.end(), whole.begin()));

    const auto rest = take_bundle(b, bundle);
    CHECK(rest.duplicates == kept.size());
    CHECK(rest.appended == whole.size() - kept.size());
    CHECK(heads_of(b) == heads_of(a));
    CHECK(damage_of(b.store()).empty());
  }
}

TEST_CASE("a bundle changed anywhere brings no event that its store did not have",
          "[ingest][bundle]") {
  TempStore a;
  a.ingest_file(data_path("captures/1.18.33/run/tool-bash.ndjson"));
  const std::string bundle = bundle_of_all(a);
  const auto whole = read_bundle(bundle).events;
  std::mt19937 random(11);

  for (int i = 0; i < 24; ++i) {
    std::string changed = bundle;
    // The first bytes are what tells a bundle from a text.
    const std::size_t at = kBundleMark.size() + random() % (bundle.size() - kBundleMark.size());
    changed[at] = static_cast<char>(changed[at] ^ (1U << random() % 8));
    INFO("byte " << at);
    TempStore b;
    try {
      const auto counts = take_bundle(b, changed);
      CHECK(counts.refused == 1);
    } catch (const std::runtime_error& refused) {
      CHECK(std::string(refused.what()).find("has format") != std::string::npos);
    }
    CHECK(damage_of(b.store()).empty());
    const auto kept = read_bundle(bundle_of_all(b)).events;
    CHECK(std::equal(kept.begin(), kept.end(), whole.begin()));
  }
}

TEST_CASE("an event of many chunks travels and comes back byte for byte", "[ingest][bundle]") {
  TempStore a;
  a.ingest(line_with("ses_1", 1, noise(9 << 20, 1)) + "\n" + run_line("ses_1", 2, 40 << 20) + "\n" +
           run_line("ses_1", 3) + "\n");

  TempStore b;
  const auto counts = take_bundle(b, bundle_of_all(a));

  CHECK(counts.appended == 3);
  CHECK(heads_of(b) == heads_of(a));
  CHECK(b.raw_events() == a.raw_events());
  CHECK(damage_of(b.store()).empty());
}

TEST_CASE("children come along with a session, parents and what belongs to no session do not",
          "[query][export][bundle]") {
  TempStore a;
  a.ingest_file(data_path("captures/1.18.33/serve/subagent/event.sse"));
  a.ingest_file(data_path("captures/1.18.33/store/export-plain.json"));
  const auto reader = a.reader();
  std::string parent;
  std::string child;
  for (const auto& entry : value(reader.sessions())) {
    if (entry.row.parent.empty()) continue;
    parent = entry.row.parent;
    child = entry.row.id;
  }
  REQUIRE_FALSE(child.empty());

  CHECK(value(with_children(reader, {parent})) == std::set<std::string>{parent, child});
  CHECK(value(with_children(reader, {child})) == std::set<std::string>{child});

  TempStore b;
  take_bundle(b, bundle_of(a, {.all = false, .sessions = {parent, child}, .since = {}}));
  auto both = std::vector{parent, child};
  std::ranges::sort(both);
  CHECK(b.session_ids() == both);
  CHECK(value(b.reader().host_streams()).empty());
}

TEST_CASE(
    "an erased event travels as one, and full ones and erased ones do not overwrite each other",
    "[ingest][bundle]") {
  TempStore full;
  full.ingest(run_line("ses_1", 1) + "\n" + run_line("ses_1", 2) + "\n");
  const std::string with_content = bundle_of_all(full);
  TempStore erased;
  take_bundle(erased, with_content);
  {
    // As a redaction leaves it: the commitment instead of salt and raw bytes.
    auto event = value(read_event(erased.store().view(), {1}, {2}, {1}));
    const Sha256 commitment =
        sha256(std::string(bytes_of(event.header.salt)) + std::string(as_bytes(sha256(event.raw))));
    event.header.commitment.assign(commitment.begin(), commitment.end());
    event.header.salt.clear();
    const std::string header = encode(event.header);
    WriteUnit unit(erased.store());
    unit.put(Family::Log, keys::event({1}, {2}, {1}), {big_endian<4>(header.size()), header, "{}"});
    check(erased.store().commit(unit, Durability::Synced));
    check(rebuild_model(erased.store()));
  }
  REQUIRE(damage_of(erased.store()).empty());
  const std::string without = bundle_of_all(erased);

  TempStore c;
  CHECK(take_bundle(c, without).appended == 2);
  CHECK(damage_of(c.store()).empty());
  CHECK(heads_of(c) == heads_of(full));
  CHECK(c.raw_events().front() == "{}");

  CHECK(take_bundle(c, with_content).duplicates == 2);
  CHECK(c.raw_events().front() == "{}");
  CHECK(take_bundle(full, without).duplicates == 2);
  CHECK(full.raw_events().front() == run_line("ses_1", 1));
}

}  // namespace respool::test
