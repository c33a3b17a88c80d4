#include <algorithm>
#include <random>

#include <catch2/catch.hpp>

#include "schema/opencode/json_text.h"

#include "tests/ingest/source/database_fixture.h"

namespace respool::test {
namespace {

// A copy of one database of the test data in a folder of its own.
fs::path place(const fs::path& folder, const std::string& bytes) {
  write_file(folder / "opencode.db", bytes);
  age_files(folder);
  return folder / "opencode.db";
}

fs::path make_database(const fs::path& folder, const std::string& sql) {
  WrittenDatabase(folder / "opencode.db").run(sql);
  age_files(folder);
  return folder / "opencode.db";
}

void change(const fs::path& database, const std::string& sql) {
  WrittenDatabase(database).run(sql);
  age_files(database.parent_path());
}

// Rows per table, counted by SQLite; of the tables that are read, those that have any.
std::map<std::string, std::int64_t> counted(const fs::path& database) {
  WrittenDatabase direct(database);
  std::map<std::string, std::int64_t> counts;
  for (const auto& table : direct.texts("SELECT name FROM sqlite_master WHERE type = 'table'")) {
    if (table.find("migration") != std::string::npos) continue;
    const auto count = direct.number("SELECT count(*) FROM \"" + table + "\"");
    if (count > 0) counts[table] = count;
  }
  return counts;
}

std::vector<std::string> ids_of(const Reading& reading) {
  std::vector<std::string> ids;
  for (const auto& row : reading.rows) {
    const auto at = row.raw.find("\"id\":\"") + 6;
    ids.push_back(row.raw.substr(at, row.raw.find('"', at) - at));
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

}  // namespace

TEST_CASE("every recorded database is read whole", "[ingest][database]") {
  std::vector<std::string> databases = {corpus_file("opencode.db")};
  for (const auto& file : captures("store", ".db"))
    databases.push_back(read_file(file));
  REQUIRE(databases.size() == 4);
  for (const auto& bytes : databases) {
    const TempDir folder;
    const fs::path database = place(folder.path(), bytes);

    const Reading reading = read_database(database);

    CHECK(reading.problems.empty());
    CHECK(reading.counts() == counted(database));
    CHECK(std::all_of(reading.rows.begin(), reading.rows.end(), [](const ReadRow& row) {
      return is_valid_json(row.raw);
    }));
    CHECK(read_database(database, reading.mark).rows.empty());
  }
}

TEST_CASE("rows of table event are the bytes POST /sync/history gives", "[ingest][database]") {
  const TempDir folder;
  const fs::path database = unpack_killed(folder.path());

  const auto events = read_database(database).raws("event");

  std::string array;
  for (const auto& event : events)
    array += (array.empty() ? "[" : ",") + event;
  CHECK(events.size() == 31);
  CHECK(array + "]" == read_file(data_path("captures/1.18.33/store/killed/sync-history.json")));
}

TEST_CASE("a row shows its columns in order, with its session and time", "[ingest][database]") {
  const TempDir folder;
  const fs::path database = make_database(folder.path(), schema_and_rows());

  const Reading reading = read_database(database);

  const ReadRow part = {
      "part",
      R"({"table":"part","id":"prt_a","message_id":"msg_a","session_id":"ses_a","time_created":1000,"time_updated":2000,"data":{"type":"text","text":"one"}})",
      "ses_a",
      2000};
  const ReadRow session = {
      "session",
      R"({"table":"session","id":"ses_a","title":"First","cost":0.25,"model":{"id":"m"},"time_created":1000,"time_updated":2000})",
      "ses_a",
      2000};
  const ReadRow event = {
      "event",
      R"({"id":"evt_1","aggregate_id":"ses_a","seq":0,"type":"session.created.1","data":{"sessionID":"ses_a"}})",
      "ses_a",
      0};
  for (const auto& row : {part, session, event})
    CHECK(std::count(reading.rows.begin(), reading.rows.end(), row) == 1);
  // A title is text, whatever it looks like.
  CHECK(reading.raws("session").back().find(R"("title":"[1]","cost":0,"model":null)") !=
        std::string::npos);
}

TEST_CASE("values of every type come back whole", "[ingest][database]") {
  const TempDir folder;
  const fs::path database = make_database(
      folder.path(),
      "CREATE TABLE odd (a, b, c, d, e, f, g, h, i);"
      "INSERT INTO odd VALUES (9223372036854775807, 0.1, 9e999, -1e-300, x'00ff', NULL,"
      "                        CAST(x'61ff' AS TEXT), CAST(x'610062' AS TEXT), '{\"broken\":');");

  const Reading reading = read_database(database);

  REQUIRE(reading.rows.size() == 1);
  CHECK(
      reading.rows.front().raw ==
      R"({"table":"odd","a":9223372036854775807,"b":0.1,"c":"Infinity","d":-1e-300,"e":{"base64":"AP8="},"f":null,"g":{"base64":"Yf8="},"h":"a\u0000b","i":"{\"broken\":"})");
}

TEST_CASE("tables with credentials are never read", "[ingest][database]") {
  const TempDir folder;
  const fs::path database = make_database(
      folder.path(),
      schema_and_rows() +
          "CREATE TABLE account (id, access_token); INSERT INTO account VALUES (1, 'KEEP-OUT');"
          "CREATE TABLE account_state (id, v); INSERT INTO account_state VALUES (1, 'KEEP-OUT');"
          "CREATE TABLE control_account (v); INSERT INTO control_account VALUES ('KEEP-OUT');"
          "CREATE TABLE Credential (id, v); INSERT INTO Credential VALUES (1, 'KEEP-OUT');"
          "CREATE TABLE session_share (id, v); INSERT INTO session_share VALUES (1, 'KEEP-OUT');"
          "CREATE TABLE oauth_state (id, v); INSERT INTO oauth_state VALUES (1, 'KEEP-OUT');"
          "CREATE TABLE mcp (id, refresh_token); INSERT INTO mcp VALUES (1, 'KEEP-OUT');"
          "CREATE TABLE future (id, v); INSERT INTO future VALUES (1, 'welcome');");

  const Reading reading = read_database(database);

  for (const auto& row : reading.rows)
    CHECK(row.raw.find("KEEP-OUT") == std::string::npos);
  CHECK(reading.raws("future").size() == 1);
  const auto source = value(DatabaseSource::open(database, folder.path() / "scratch"));
  CHECK(source->schema_detail() == R"(tables "event" "future" "message" "part" "session")");
}

TEST_CASE("a reading since a mark visits what is new or changed", "[ingest][database]") {
  const TempDir folder;
  const fs::path database = make_database(folder.path(), schema_and_rows());
  const Reading first = read_database(database);
  const auto since = [&] { return read_database(database, first.mark); };
  const auto visits = [&](const Reading& reading, const std::string& id) {
    const auto ids = ids_of(reading);
    return std::count(ids.begin(), ids.end(), id);
  };
  CHECK(first.rows.size() == 8);
  CHECK(since().rows.empty());

  SECTION("a new event alone") {
    change(database, "INSERT INTO event VALUES ('evt_3', 'ses_a', 1, 'x.1', '{}')");
    CHECK(ids_of(since()) == std::vector<std::string>{"evt_3"});
  }
  SECTION("new events where the last ones were deleted") {
    change(database,
           "DELETE FROM event WHERE id = 'evt_2';"
           "INSERT INTO event VALUES ('evt_3', 'ses_c', 0, 'x.1', '{}')");
    CHECK(visits(since(), "evt_3") == 1);
  }
  SECTION("a row with a later time") {
    change(database, "UPDATE part SET time_updated = 3000 WHERE id = 'prt_a'");
    CHECK(visits(since(), "prt_a") == 1);
    CHECK(since().raws("message").empty());
  }
  SECTION("an edit that left its time alone") {
    change(database, "UPDATE part SET data = data || ' ' WHERE id = 'prt_a'");
    CHECK(visits(since(), "prt_a") == 1);
  }
  SECTION("an imported row that is older than the mark") {
    change(database, "INSERT INTO message VALUES ('msg_c', 'ses_a', 10, 20, '{}')");
    CHECK(visits(since(), "msg_c") == 1);
  }
  SECTION("a row whose time went backwards") {
    change(database, "UPDATE message SET time_updated = 5, data = '{}' WHERE id = 'msg_b'");
    CHECK(visits(since(), "msg_b") == 1);
  }
  SECTION("everything in a table with another column") {
    change(database, "ALTER TABLE message ADD COLUMN more TEXT");
    CHECK(since().raws("message").size() == 2);
    CHECK(since().raws("part").empty());
  }
  SECTION("everything where the mark is damaged") {
    DatabaseMark damaged = first.mark;
    damaged.tables.resize(damaged.tables.size() / 2);
    CHECK(read_database(database, damaged).rows.size() == 8);
    damaged.tables = "something else";
    CHECK(read_database(database, damaged).rows.size() == 8);
  }
  SECTION("what follows, where a second reading starts at the first one's mark") {
    change(database, "INSERT INTO event VALUES ('evt_3', 'ses_a', 1, 'x.1', '{}')");
    const Reading second = since();
    change(database, "INSERT INTO event VALUES ('evt_4', 'ses_a', 2, 'x.1', '{}')");
    CHECK(ids_of(read_database(database, second.mark)) == std::vector<std::string>{"evt_4"});
  }
}

TEST_CASE("of a long table only the blocks with changes are visited again", "[ingest][database]") {
  const TempDir folder;
  const fs::path database = make_database(
      folder.path(),
      schema_and_rows() +
          "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000) "
          "INSERT INTO part SELECT 'prt_' || i, 'msg_a', 'ses_a', 1, 2, printf('{\"n\":%d}', i) "
          "FROM n;");
  const Reading first = read_database(database);
  change(database, "UPDATE part SET data = '{}' WHERE id IN ('prt_7', 'prt_4000')");

  const Reading second = read_database(database, first.mark);

  CHECK(first.raws("part").size() == 5002);
  CHECK(second.rows.size() == 127 + 128);
}

TEST_CASE("a failing visitor ends the reading and the mark stays", "[ingest][database]") {
  const TempDir folder;
  const fs::path database = make_database(folder.path(), schema_and_rows());
  const auto source = value(DatabaseSource::open(database, folder.path() / "scratch"));
  int visits = 0;

  const auto failed = source->each_row({}, [&](const DatabaseRow&) -> Result<void> {
    ++visits;
    return Error(ErrorCode::Corruption, "the store is full");
  });

  REQUIRE(failed.has_error());
  CHECK(failed.error().message() == "the store is full");
  CHECK(visits == 1);
  CHECK(source->mark().tables.empty());
}

TEST_CASE("sessions and their rows are listed", "[ingest][database]") {
  const TempDir folder;
  const fs::path database = make_database(folder.path(), schema_and_rows());
  const auto source = value(DatabaseSource::open(database, folder.path() / "scratch"));

  const auto rows = value(source->session_rows("ses_b"));

  CHECK(value(source->session_ids()) == std::vector<std::string>{"ses_a", "ses_b"});
  CHECK(rows.messages == std::vector<std::string>{"msg_b"});
  CHECK(rows.parts == std::vector<std::string>{"prt_b"});
  CHECK(value(source->session_rows("' OR 1=1 --")).messages.empty());
}

TEST_CASE("databases of other generations are known and read all the same", "[ingest][database]") {
  const auto schema_of = [](const std::string& sql) {
    const TempDir folder;
    const fs::path database = make_database(folder.path(), sql);
    CHECK(read_database(database).counts() == counted(database));
    const auto source = value(DatabaseSource::open(database, folder.path() / "scratch"));
    return source->schema();
  };

  CHECK(schema_of(schema_and_rows()) == DatabaseSchema::OpenCode1);
  CHECK(schema_of("CREATE TABLE sessions (id TEXT, title TEXT); CREATE TABLE files (id TEXT);"
                  "CREATE TABLE messages (id TEXT, session_id TEXT, parts TEXT);"
                  "INSERT INTO messages VALUES ('1', '2', '[]');") == DatabaseSchema::Older);
  CHECK(schema_of(schema_and_rows() + "CREATE TABLE session_v2 (id TEXT, data TEXT);"
                                      "INSERT INTO session_v2 VALUES ('ses_c', '{}');") ==
        DatabaseSchema::Newer);
  CHECK(schema_of("CREATE TABLE cats (id); INSERT INTO cats VALUES (1);") ==
        DatabaseSchema::Unknown);
  CHECK(schema_of("") == DatabaseSchema::Unknown);
}

TEST_CASE("names made to mislead are only names", "[ingest][database]") {
  const TempDir folder;
  const fs::path database =
      make_database(folder.path(),
                    schema_and_rows() +
                        R"(CREATE TABLE "x""; DROP TABLE part; --" ("a"" b" TEXT, "data" TEXT);
             INSERT INTO "x""; DROP TABLE part; --" VALUES ('1', '{}');
             CREATE TABLE pragma_table_info (rowid TEXT, oid TEXT);
             INSERT INTO pragma_table_info VALUES ('one', 'two');
             CREATE TABLE blind (rowid TEXT, oid TEXT, _rowid_ TEXT);
             INSERT INTO blind VALUES ('one', 'two', 'three');
             CREATE TABLE flat (id TEXT PRIMARY KEY, v) WITHOUT ROWID;
             INSERT INTO flat VALUES ('k', 1);
             CREATE TABLE derived (id TEXT, twice AS (id || id));
             INSERT INTO derived VALUES ('d');
             CREATE VIEW looks AS SELECT randomblob(1000000000) FROM session;
             CREATE TRIGGER fires AFTER INSERT ON part BEGIN DELETE FROM session; END;
             CREATE VIRTUAL TABLE words USING fts5(text);)");

  const Reading reading = read_database(database);
  const Reading again = read_database(database, reading.mark);

  CHECK(reading.problems.empty());
  CHECK(reading.raws("x\"; DROP TABLE part; --") ==
        std::vector<std::string>{R"({"table":"x\"; DROP TABLE part; --","a\" b":"1","data":{}})"});
  CHECK(reading.raws("pragma_table_info") ==
        std::vector<std::string>{R"({"table":"pragma_table_info","rowid":"one","oid":"two"})"});
  CHECK(reading.raws("blind").size() == 1);
  CHECK(reading.raws("flat") == std::vector<std::string>{R"({"table":"flat","id":"k","v":1})"});
  CHECK(reading.raws("derived") == std::vector<std::string>{R"({"table":"derived","id":"d"})"});
  CHECK(reading.raws("looks").empty());
  CHECK(reading.raws("words").empty());
  CHECK(reading.raws("part").size() == 2);
  // Tables without rowids come whole each time.
  CHECK(again.counts() ==
        std::map<std::string, std::int64_t>{{"blind", 1}, {"flat", 1}, {"words_config", 1}});
}

TEST_CASE("a file that is no database is told from an empty one", "[ingest][database]") {
  const TempDir folder;
  const fs::path text = place(folder.path(), std::string(5000, 'x'));

  const auto opened = DatabaseSource::open(text, folder.path() / "scratch");
  const auto missing = DatabaseSource::open(folder.path() / "none.db", folder.path() / "scratch");

  REQUIRE(opened.has_error());
  CHECK(opened.error().code() == ErrorCode::Corruption);
  REQUIRE(missing.has_error());
  CHECK(missing.error().code() == ErrorCode::NotFound);
}

TEST_CASE("around a damaged page everything else is read", "[ingest][database]") {
  const TempDir folder;
  const fs::path database = place(folder.path(), corpus_file("opencode.db"));
  const auto whole = counted(database);
  std::string bytes = read_file(database);
  const auto at = bytes.find("prt_22e26d257001sAJfdQNDk9GrHnmsg_");
  REQUIRE(at != std::string::npos);
  const auto root =
      WrittenDatabase(database).number("SELECT rootpage FROM sqlite_master WHERE name = 'message'");
  // One leaf of table part and the root of table message.
  std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at / 4096 * 4096), 4096, '\xAA');
  std::fill_n(bytes.begin() + (root - 1) * 4096, 4096, '\xAA');

  const Reading reading = read_database(place(folder.path(), bytes));

  auto counts = reading.counts();
  CHECK(counts["event"] == whole.at("event"));
  CHECK(counts["session"] == whole.at("session"));
  CHECK(counts["message"] == 0);
  CHECK(counts["part"] > whole.at("part") * 9 / 10);
  CHECK(counts["part"] < whole.at("part"));
  std::vector<std::string> damaged;
  for (const auto& problem : reading.problems)
    damaged.push_back(problem.table);
  damaged.erase(std::unique(damaged.begin(), damaged.end()), damaged.end());
  CHECK(damaged == std::vector<std::string>{"message", "part"});
}

TEST_CASE("damage anywhere gives rows or errors, nothing worse", "[ingest][database]") {
  const std::string bytes = read_file(data_path("captures/1.2.27/store/opencode.db"));
  const unsigned seed = GENERATE(range(1U, 61U));
  INFO("seed " << seed);
  std::mt19937 random(seed);
  std::string damaged = bytes;
  for (int flips = 0; flips < 40; ++flips)
    damaged[random() % damaged.size()] = static_cast<char>(random());
  if (seed % 5 == 0) damaged.resize(random() % damaged.size());
  const TempDir folder;
  const fs::path database = place(folder.path(), damaged);
  const TempDir scratch;

  const auto source = DatabaseSource::open(database, scratch.path());

  if (!source) {
    CHECK(source.error().code() == ErrorCode::Corruption);
    return;
  }
  const auto read = source.value()->each_row({}, [](const DatabaseRow& row) -> Result<void> {
    CHECK(is_valid_json(row.raw));
    return ok();
  });
  CHECK(read.has_value());
}

}  // namespace respool::test
