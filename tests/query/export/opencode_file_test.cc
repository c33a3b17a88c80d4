#include "query/export/opencode_file.h"

#include <algorithm>
#include <set>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "schema/opencode/json_fields.h"

#include "ingest/database_sync.h"

#include "tests/cli/home.h"
#include "tests/ingest/source/database_fixture.h"
#include "tests/query/export/opencode_json.h"
#include "tests/support/temp_store.h"

namespace respool::test {
namespace {

OpenCodeFile plain(const TempStore& store, const std::string& session) {
  return value(opencode_file(store.reader(), store.number(session), {}, {}));
}

void take_in_database(TempStore& store, const fs::path& database) {
  const auto recorder = value(Recorder::open(store.store()));
  const DatabaseSyncOptions options{.host = "here", .now_ms = [] { return kNow; }};
  value(sync_database(store.store(), *recorder, database, options));
  check(recorder->finish());
}

void check_same(const std::vector<ExportedFile::Message>& ours,
                const std::vector<ExportedFile::Message>& theirs) {
  REQUIRE(ours.size() == theirs.size());
  for (std::size_t i = 0; i < ours.size(); ++i) {
    CHECK(ours[i].info == theirs[i].info);
    CHECK(ours[i].parts == theirs[i].parts);
  }
}

std::string without_totals(const std::string& info) {
  auto session = JsonFields::parse(info);
  REQUIRE(session);
  session->remove("cost");
  session->remove("tokens");
  return session->json();
}

std::vector<fs::path> real_exports() {
  std::vector<fs::path> found;
  for (const auto& path : captures("store", ".json")) {
    const std::string name = path.filename().string();
    const bool is_export = name.starts_with("export-") || name.starts_with("import-re-export");
    if (is_export && fs::file_size(path) > 0) found.push_back(path);
  }
  return found;
}

}  // namespace

TEST_CASE("an export taken in comes out as the same export", "[query][export]") {
  const auto exports = real_exports();
  REQUIRE(exports.size() > 20);
  for (const auto& path : exports) {
    INFO(short_name(path));
    TempStore store;
    store.ingest_file(path);
    REQUIRE(store.session_ids().size() == 1);

    const auto file = plain(store, store.session_ids().front());

    const auto ours = read_exported(file.json);
    const auto theirs = read_exported(read_file(path));
    CHECK(ours.info == theirs.info);
    check_same(ours.messages, theirs.messages);
    CHECK(file.notes.empty());
  }
}

TEST_CASE("all exports of the corpus in one store come out as they came in",
          "[query][export][corpus]") {
  TempStore store;
  const std::string exports = corpus_file("exports.ndjson");
  store.ingest(exports);
  for (const auto& line : lines_of(exports)) {
    const auto theirs = read_exported(line);
    const std::string session = text_at(line, "info/id");
    INFO(session);

    const auto file = plain(store, session);

    const auto ours = read_exported(file.json);
    CHECK(ours.info == theirs.info);
    check_same(ours.messages, theirs.messages);
  }
}

TEST_CASE("what an event stream showed comes out as OpenCode lists it", "[query][export]") {
  std::size_t compared = 0;
  for (const auto& folder : serve_captures()) {
    INFO(short_name(folder));
    // There history came by /sync/replay, past the stream.
    if (folder.filename().string().starts_with("second-host")) continue;
    TempStore store;
    for (const auto& entry : fs::directory_iterator(folder)) {
      if (entry.path().extension() == ".sse") store.ingest_file(entry.path());
    }
    for (const auto& entry : fs::directory_iterator(folder)) {
      const std::string name = entry.path().filename().string();
      if (!name.starts_with("messages")) continue;
      INFO(name);
      const auto theirs = read_exported_messages(read_file(entry.path()));
      if (theirs.empty()) continue;
      const std::string session = text_at(theirs.front().info, "sessionID");
      const auto known = store.session_ids();
      if (std::find(known.begin(), known.end(), session) == known.end()) continue;
      const auto ours = read_exported(plain(store, session).json);
      check_same(ours.messages, theirs);
      ++compared;
    }
  }
  CHECK(compared > 10);
}

TEST_CASE("the corpus comes out of its event stream and of its database as OpenCode exported it",
          "[query][export][corpus]") {
  // No event tells the totals that a fork copied: until it is prompted its session says 0.
  std::size_t unprompted_forks = 0;
  std::size_t compared = 0;
  const auto lines = lines_of(corpus_file("exports.ndjson"));
  for (const auto* source : {"events.sse", "opencode.db", "opencode.db without events"}) {
    INFO(source);
    TempStore store;
    if (source == std::string("events.sse")) {
      store.ingest(corpus_file(source));
    } else {
      const TempDir dir;
      write_file(dir.path() / "opencode.db", corpus_file("opencode.db"));
      if (source != std::string("opencode.db"))
        WrittenDatabase(dir.path() / "opencode.db").run("DELETE FROM event");
      take_in_database(store, dir.path() / "opencode.db");
    }
    const auto known = store.session_ids();
    for (const auto& line : lines) {
      const std::string session = text_at(line, "info/id");
      INFO(session);
      if (std::find(known.begin(), known.end(), session) == known.end()) continue;
      auto theirs = read_exported(line);
      auto ours = read_exported(plain(store, session).json);
      check_same(ours.messages, theirs.messages);
      const bool fork = text_at(line, "info/title").ends_with("(fork #1)");
      if (fork && ours.info != theirs.info) {
        ++unprompted_forks;
        ours.info = without_totals(ours.info);
        theirs.info = without_totals(theirs.info);
      }
      CHECK(ours.info == theirs.info);
      ++compared;
    }
  }
  CHECK(unprompted_forks == 2 * 4);  // of the stream, and of the event table
  CHECK(compared == 3 * lines.size());
}

}  // namespace respool::test
