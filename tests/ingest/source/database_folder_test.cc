#include <catch2/catch.hpp>

#include "tests/ingest/source/database_fixture.h"

namespace respool::test {
namespace {

const std::string kWal = "PRAGMA journal_mode = WAL;";

std::string new_part(const std::string& id) {
  return "INSERT INTO part VALUES ('" + id + "', 'msg_a', 'ses_a', 1, 2, '{}');";
}

void start(WrittenDatabase& written) {
  written.run(kWal + schema_and_rows());
}

void fill(WrittenDatabase& written) {
  written.run(
      "BEGIN; WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4000) "
      "INSERT INTO part SELECT 'prt_' || i, 'msg_a', 'ses_a', 1, 2, hex(randomblob(200)) FROM n;");
}

std::vector<std::string> names(const fs::path& folder) {
  std::vector<std::string> found;
  for (const auto& [name, state] : folder_state(folder))
    found.push_back(name);
  return found;
}

}  // namespace

TEST_CASE("what a killed OpenCode left in its WAL is read where it lies", "[ingest][database]") {
  const TempDir folder;
  const fs::path database = unpack_killed(folder.path());
  const auto before = folder_state(folder.path());

  const Reading reading = read_database(database);

  CHECK(reading.access == DatabaseAccess::InPlace);
  CHECK(reading.counts() == std::map<std::string, std::int64_t>{{"event", 31},
                                                                {"event_sequence", 1},
                                                                {"message", 4},
                                                                {"part", 8},
                                                                {"project", 1},
                                                                {"session", 1}});
  CHECK((folder_state(folder.path()) == before));
}

TEST_CASE("a WAL without its index is read from a copy", "[ingest][database]") {
  const TempDir folder;
  const fs::path database = unpack_killed(folder.path());
  const Reading with_index = read_database(database);
  fs::remove(folder.path() / "opencode.db-shm");
  const auto before = folder_state(folder.path());

  const Reading reading = read_database(database);

  CHECK(reading.access == DatabaseAccess::Copy);
  CHECK(reading.rows == with_index.rows);
  CHECK((folder_state(folder.path()) == before));
}

TEST_CASE("a transaction that a crash cut short is rolled back in a copy", "[ingest][database]") {
  const TempDir folder;
  const fs::path database = folder.path() / "opencode.db";
  {
    WriterProcess writer(database, {[](WrittenDatabase& written) {
                           written.run(schema_and_rows() + "PRAGMA cache_size = 1;");
                           fill(written);
                         }});
    writer.kill();
  }
  REQUIRE(fs::file_size(folder.path() / "opencode.db-journal") > 0);
  age_files(folder.path());
  const auto before = folder_state(folder.path());

  const Reading reading = read_database(database);

  CHECK(reading.access == DatabaseAccess::Copy);
  CHECK(reading.raws("part").size() == 2);
  CHECK((folder_state(folder.path()) == before));
}

TEST_CASE("beside a writer its committed rows are read and its files left alone",
          "[ingest][database]") {
  const TempDir folder;
  const fs::path database = folder.path() / "opencode.db";
  WriterProcess writer(database,
                       {[](WrittenDatabase& written) {
                          start(written);
                          written.run(new_part("prt_c"));
                        },
                        fill,
                        [](WrittenDatabase& written) { written.run("COMMIT"); }});
  const auto before = folder_state(folder.path());

  const Reading first = read_database(database);
  CHECK((folder_state(folder.path()) == before));
  writer.next_step();
  const auto in_transaction = folder_state(folder.path());
  const Reading second = read_database(database, first.mark);
  CHECK((folder_state(folder.path()) == in_transaction));
  writer.next_step();
  const Reading third = read_database(database, second.mark);

  CHECK(first.access == DatabaseAccess::InPlace);
  CHECK(first.raws("part").size() == 3);
  CHECK(second.rows.empty());
  CHECK(third.raws("part").size() >= 4000);
  writer.leave();
  CHECK(names(folder.path()) == std::vector<std::string>{"opencode.db"});
}

TEST_CASE("one reading is one moment, whatever a writer does meanwhile", "[ingest][database]") {
  const TempDir folder;
  const TempDir scratch;
  const fs::path database = folder.path() / "opencode.db";
  WriterProcess writer(
      database,
      {start, [](WrittenDatabase& written) {
         written.run(
             "UPDATE part SET data = '{\"late\":1}'; UPDATE event SET data = '{\"late\":1}';"
             "PRAGMA wal_checkpoint(PASSIVE);");
       }});
  std::string seen;
  bool acted = false;

  const auto source = value(DatabaseSource::open(database, scratch.path()));
  check(source->each_row({}, [&](const DatabaseRow& row) -> Result<void> {
    if (!acted) writer.next_step();
    acted = true;
    seen += row.raw;
    return ok();
  }));

  CHECK(seen.find("late") == std::string::npos);
}

TEST_CASE("a writer that leaves while we read leaves nothing of ours", "[ingest][database]") {
  const TempDir folder;
  const TempDir scratch;
  const fs::path database = folder.path() / "opencode.db";
  WriterProcess writer(database, {start});
  {
    const auto source = value(DatabaseSource::open(database, scratch.path()));
    std::size_t rows = 0;
    check(source->each_row({}, [&](const DatabaseRow&) -> Result<void> {
      if (rows++ == 0) writer.leave();
      return ok();
    }));
    CHECK(rows == 8);
  }

  // SQLite keeps the WAL of a database that somebody reads: these are the writer's files.
  const std::vector<std::string> left = names(folder.path());
  CHECK(left == std::vector<std::string>{"opencode.db", "opencode.db-shm", "opencode.db-wal"});
  CHECK(fs::is_empty(scratch.path()));
  const Reading later = read_database(database);
  CHECK(later.rows.size() == 8);
  WrittenDatabase(database).run(new_part("prt_c"));
  CHECK(names(folder.path()) == std::vector<std::string>{"opencode.db"});
}

TEST_CASE("a writer that comes while nobody has it open makes us look again",
          "[ingest][database]") {
  const TempDir folder;
  const TempDir scratch;
  const fs::path database = folder.path() / "opencode.db";
  {
    WrittenDatabase written(database);
    start(written);
  }
  age_files(folder.path());
  const auto source = value(DatabaseSource::open(database, scratch.path()));
  REQUIRE(source->access() == DatabaseAccess::Immutable);
  bool came = false;
  std::size_t late = 0;

  check(source->each_row({}, [&](const DatabaseRow& row) -> Result<void> {
    if (!std::exchange(came, true)) {
      WriterProcess writer(database, {[](WrittenDatabase& written) {
                             written.run(new_part("prt_late") + "PRAGMA wal_checkpoint(FULL);");
                           }});
      writer.kill();
    }
    if (row.raw.find("prt_late") != std::string_view::npos) ++late;
    return ok();
  }));

  CHECK(late == 1);
  CHECK(source->access() == DatabaseAccess::InPlace);
  const Reading again = read_database(database, source->mark());
  CHECK(again.rows.empty());
}

TEST_CASE("a database in a folder that cannot be written is read", "[ingest][database]") {
  for (const bool killed : {false, true}) {
    const TempDir folder;
    const fs::path database = folder.path() / "opencode.db";
    if (killed) {
      unpack_killed(folder.path());
    } else {
      WrittenDatabase written(database);
      start(written);
    }
    age_files(folder.path());
    for (const auto& entry : fs::directory_iterator(folder.path()))
      fs::permissions(entry.path(), fs::perms::owner_read);
    fs::permissions(folder.path(), fs::perms::owner_read | fs::perms::owner_exec);
    const auto before = folder_state(folder.path());

    const Reading reading = read_database(database);

    CHECK(reading.rows.size() == (killed ? 46U : 8U));
    CHECK((folder_state(folder.path()) == before));
    fs::permissions(folder.path(), fs::perms::owner_all);
  }
}

TEST_CASE("leftovers beside a database are no reason to write", "[ingest][database]") {
  const auto leave = GENERATE(as<std::string>{}, "-shm", "-wal", "-journal", "-wal and -shm");
  INFO(leave);
  const TempDir folder;
  const fs::path database = folder.path() / "opencode.db";
  {
    WrittenDatabase written(database);
    start(written);
  }
  if (leave.find("-shm") != std::string::npos)
    write_file(folder.path() / "opencode.db-shm", std::string(32768, '\0'));
  if (leave.find("-wal") != std::string::npos) write_file(folder.path() / "opencode.db-wal", "");
  if (leave == "-journal")
    write_file(folder.path() / "opencode.db-journal", std::string(512, '\0'));
  age_files(folder.path());
  const auto before = folder_state(folder.path());

  const Reading reading = read_database(database);

  CHECK(reading.rows.size() == 8);
  CHECK((folder_state(folder.path()) == before));
}

TEST_CASE("an empty file with a WAL beside it stays as it is", "[ingest][database]") {
  const TempDir folder;
  const fs::path database = unpack_killed(folder.path());
  write_file(database, "");
  age_files(folder.path());
  const auto before = folder_state(folder.path());

  const auto opened = DatabaseSource::open(database, folder.path() / "scratch");

  fs::remove_all(folder.path() / "scratch");
  CHECK((folder_state(folder.path()) == before));
}

TEST_CASE("a path may hold any character", "[ingest][database]") {
  const TempDir folder;
  const fs::path odd = folder.path() / "a%20b?mode=rwc#c&d'\"\xC3\xA9 \n";
  fs::create_directory(odd);
  {
    WrittenDatabase written(odd / "opencode.db");
    start(written);
  }
  age_files(odd);
  const auto before = folder_state(odd);
  fs::create_symlink(odd / "opencode.db", folder.path() / "opencode.db");

  CHECK(read_database(odd / "opencode.db").rows.size() == 8);
  CHECK(read_database(folder.path() / "opencode.db").rows.size() == 8);
  CHECK((folder_state(odd) == before));
}

TEST_CASE("a signature changes with the database and with nothing else", "[ingest][database]") {
  const TempDir folder;
  const fs::path database = unpack_killed(folder.path());
  const std::string first = value(database_signature(database));

  read_database(database);
  CHECK(value(database_signature(database)) == first);
  fs::permissions(database, fs::perms::owner_read);
  CHECK(value(database_signature(database)) == first);
  write_file(folder.path() / "opencode.db-wal", read_file(folder.path() / "opencode.db-wal") + "x");
  age_files(folder.path());
  const std::string second = value(database_signature(database));
  CHECK(second != first);

  // A file just written may be written again within the same tick of the clock.
  write_file(folder.path() / "opencode.db-wal", "x");
  CHECK(value(database_signature(database)) != value(database_signature(database)));
  const auto missing = database_signature(folder.path() / "none.db");
  REQUIRE(missing.has_error());
  CHECK(missing.error().code() == ErrorCode::NotFound);
}

TEST_CASE("the databases of a data folder are found by their names", "[ingest][database]") {
  const TempDir folder;
  for (const auto* name : {"opencode.db",
                           "opencode-dev.db",
                           "opencode-.db",
                           "opencode.db-wal",
                           "other.db",
                           "auth.json"})
    write_file(folder.path() / name, "");
  fs::create_directory(folder.path() / "opencode-folder.db");

  const auto found = databases_in(folder.path());

  CHECK(found ==
        std::vector<fs::path>{folder.path() / "opencode-dev.db", folder.path() / "opencode.db"});
  CHECK(databases_in(folder.path() / "none").empty());
}

}  // namespace respool::test
