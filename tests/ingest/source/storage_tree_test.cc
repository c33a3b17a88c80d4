#include <catch2/catch.hpp>

#include "tests/ingest/source/storage_tree_fixture.h"

namespace respool::test {

TEST_CASE("a storage tree is told by its folders, also from the folder above", "[ingest][source]") {
  const TempDir dir;
  fs::create_directories(dir.path() / "project");
  fs::create_directories(dir.path() / "linked");
  fs::create_directory_symlink(real_tree() / "session", dir.path() / "linked" / "session");

  CHECK(is_storage_tree(real_tree()));
  CHECK(is_storage_tree(real_tree().parent_path()));
  CHECK_FALSE(is_storage_tree(real_tree() / "message"));
  CHECK_FALSE(is_storage_tree(dir.path()));
  CHECK_FALSE(is_storage_tree(dir.path() / "linked"));
  CHECK_FALSE(is_storage_tree(dir.path() / "nothing"));
}

TEST_CASE("a storage tree comes in whole: every file an event, every record a fact",
          "[ingest][source]") {
  const auto files = json_files(real_tree());
  REQUIRE(files.size() == 54);
  TempStore store;

  const Reading reading = read_tree(real_tree());
  const auto counts = take_in(store, reading);

  CHECK(reading.problems.empty());
  CHECK(counts.malformed == 0);
  CHECK(counts.appended == files.size());
  const auto events = store.raw_events();
  std::multiset<std::string> expected;
  for (const auto& file : files)
    expected.insert(read_file(real_tree() / file));
  CHECK((std::multiset<std::string>(events.begin(), events.end()) == expected));
  const auto all = contents(store);
  std::size_t records = 0;
  for (const auto& file : files) {
    if (file.starts_with("project/") || file.starts_with("session_diff/")) continue;
    INFO(file);
    ++records;
    CHECK(all.count(stem(file)) == 1);
  }
  CHECK(all.size() == records);
  CHECK(damage_of(store.store()).empty());
}

TEST_CASE("the folder that holds a tree gives the same", "[ingest][source]") {
  const Reading tree = read_tree(real_tree());
  const Reading above = read_tree(real_tree().parent_path());

  REQUIRE(tree.frames.size() == above.frames.size());
  for (std::size_t i = 0; i < tree.frames.size(); ++i)
    CHECK(tree.frames[i].raw == above.frames[i].raw);
}

TEST_CASE("a storage tree and an export say the same of a session", "[ingest][source]") {
  const std::string exported = read_file(data_path("captures/1.1.65/store/export-tools.json"));
  const ExportOracle oracle = read_export(exported);
  TempStore from_export;
  from_export.ingest(exported);
  TempStore store;

  take_in(store, read_tree(real_tree()));

  const auto ours = contents(store);
  const auto theirs = contents(from_export);
  REQUIRE(theirs.size() == 1 + oracle.messages.size() + oracle.parts.size());
  for (const auto& [id, content] : theirs) {
    INFO(id);
    REQUIRE(ours.count(id) == 1);
    CHECK(ours.at(id) == content);
  }
  for (const auto& entry : value(store.reader().sessions())) {
    if (entry.row.id != oracle.session) continue;
    const auto& usage = *entry.totals.usage;
    CHECK(usage.steps == oracle.sum.steps);
    CHECK(usage.input == oracle.sum.input);
    CHECK(usage.output == oracle.sum.output);
    CHECK(usage.reasoning == oracle.sum.reasoning);
    CHECK(usage.cache_read == oracle.sum.cache_read);
    CHECK(usage.cache_write == oracle.sum.cache_write);
    CHECK(usage.cost_nanos == oracle.sum.cost_nanos);
    CHECK(entry.totals.messages == static_cast<std::int64_t>(oracle.messages.size()));
  }
}

TEST_CASE("files of a tree have the time that is in them, parts without one that of their message",
          "[ingest][source]") {
  const Reading reading = read_tree(real_tree());

  std::map<std::string, std::int64_t> made;
  for (const auto& [raw, frame] : reading.frames) {
    const Record record = decode_record(raw, *frame.shape, frame.session);
    if (const auto* message = std::get_if<fb::MessageRowT>(&record.body))
      made[message->id] = *message->created_ms;
    if (frame.shape == Shape::ExportOther) continue;
    REQUIRE(frame.as_of_ms.has_value());
    const auto* part = std::get_if<fb::PartRowT>(&record.body);
    if (part == nullptr) {
      CHECK(*frame.as_of_ms == *record.latest_ms);
      continue;
    }
    REQUIRE(made.count(part->message) == 1);
    CHECK(*frame.time_ms == made[part->message]);
    CHECK(*frame.as_of_ms == record.latest_ms.value_or(made[part->message]));
  }
}

TEST_CASE("a tree read in any order, and again, gives the same facts", "[ingest][source][order]") {
  TempStore straight;
  Reading reading = read_tree(real_tree());
  take_in(straight, reading);
  const std::string expected = dump_model(straight.reader());
  const unsigned seed = 1165;
  INFO("seed " << seed);
  std::mt19937 random(seed);

  for (int round = 0; round < 3; ++round) {
    std::shuffle(reading.frames.begin(), reading.frames.end(), random);
    TempStore shuffled;
    take_in(shuffled, reading);
    CHECK((dump_model(shuffled.reader()) == expected));
  }
  const auto again = take_in(straight, read_tree(real_tree()));
  CHECK(again.appended == 0);
  CHECK((dump_model(straight.reader()) == expected));
}

TEST_CASE("each damaged file is reported by name, kept, and harms nothing else",
          "[ingest][source][gaps]") {
  TempStore whole;
  take_in(whole, read_tree(real_tree()));
  const auto undamaged = contents(whole);

  struct Damage {
    std::string name;
    std::string what;
    Shape shape;
    bool truncated;
  };
  const std::vector<Damage> damages = {
      {"empty", "empty", Shape::Note, false},
      {"zeros", "only NUL bytes", Shape::Malformed, false},
      {"half", "breaks off", Shape::Malformed, true},
      {"half and zeros", "breaks off, then NUL bytes", Shape::Malformed, true},
      {"words", "not JSON", Shape::Malformed, false},
      {"bad words", "not JSON: bad UTF-8", Shape::Malformed, false},
      {"folder", "a folder where a file should be", Shape::Note, false}};
  for (const std::string kind : {"session/", "message/", "part/", "session_diff/", "project/"}) {
    const std::string file = a_file(kind);
    for (const auto& damage : damages) {
      INFO(file << ": " << damage.name);
      const TreeCopy tree;
      std::string bytes = read_file(tree.path() / file);
      const std::string half = bytes.substr(0, bytes.size() / 2);
      if (damage.name == "empty") bytes.clear();
      if (damage.name == "zeros") bytes.assign(bytes.size(), '\0');
      if (damage.name == "half") bytes = half;
      if (damage.name == "half and zeros") bytes = half + std::string(100, '\0');
      if (damage.name == "words") bytes = "these are words, " + bytes;
      if (damage.name == "bad words") bytes = "\xFF\xFE" + bytes;
      if (damage.name == "folder") {
        fs::remove(tree.path() / file);
        fs::create_directory(tree.path() / file);
      } else {
        write_file(tree.path() / file, bytes);
      }

      const Reading reading = read_tree(tree.path());
      TempStore store;
      take_in(store, reading);

      REQUIRE(reading.problems.size() == 1);
      CHECK(reading.problems.front().file == file);
      CHECK(reading.problems.front().what == damage.what);
      std::size_t found = 0;
      for (const auto& [raw, frame] : reading.frames) {
        if (frame.shape == Shape::Note) {
          CHECK(damage.shape == Shape::Note);
          CHECK(raw.find("\"file\":\"" + file + "\",\"bytes\":0,\"what\":\"" + damage.what +
                         "\"") != std::string::npos);
          CHECK(decode_record(raw).session == session_of(file));
          ++found;
        } else if (frame.shape == Shape::Malformed) {
          CHECK(damage.shape == Shape::Malformed);
          CHECK(raw == bytes);
          CHECK(frame.truncated == damage.truncated);
          CHECK(frame.name == file);
          CHECK(frame.session == session_of(file));
          ++found;
        }
      }
      CHECK(found == 1);
      auto expected = undamaged;
      expected.erase(stem(file));
      if (kind == "session_diff/") expected = undamaged;
      CHECK((contents(store) == expected));
    }
  }
}

TEST_CASE("a file with a bad byte in a text is reported and read all the same",
          "[ingest][source][gaps]") {
  for (const std::string kind : {"session/", "message/", "part/"}) {
    const std::string file = a_file(kind);
    INFO(file);
    const TreeCopy tree;
    std::string bytes = read_file(tree.path() / file);
    bytes.insert(bytes.rfind('}'), ",\"added\":\"\xFF\"");
    write_file(tree.path() / file, bytes);

    const Reading reading = read_tree(tree.path());
    TempStore store;
    const auto counts = take_in(store, reading);

    CHECK(reading.what_of(file) == "bad UTF-8 or control characters, read after repair\n");
    CHECK(reading.problems.size() == 1);
    CHECK(counts.malformed == 1);
    CHECK(contents(store).count(stem(file)) == 1);
  }
}

TEST_CASE("equal damaged bytes of several files leave a trace of each", "[ingest][source][gaps]") {
  const TreeCopy tree;
  std::vector<std::string> damaged;
  const std::string folder = "message/" + a_file("message/").substr(8, 30);
  for (const auto& file : json_files(tree.path())) {
    if (!file.starts_with(folder)) continue;
    damaged.push_back(file);
    write_file(tree.path() / file, std::string(64, '\0'));
  }
  REQUIRE(damaged.size() > 1);

  const Reading reading = read_tree(tree.path());
  TempStore store;
  const auto counts = take_in(store, reading);

  CHECK(counts.duplicates == 0);
  for (const auto& file : damaged)
    CHECK(reading.what_of(file) == "only NUL bytes\n");
  CHECK(reading.problems.size() == damaged.size());
}

TEST_CASE("a part finds its session where its message is gone", "[ingest][source]") {
  const TreeCopy tree;
  const std::string part = a_file("part/");
  const std::string message = stem(fs::path(part).parent_path().string() + ".json");
  const std::string session = session_of(part);
  fs::remove(tree.path() / "message" / session / (message + ".json"));
  const std::string extra = "part/" + message + "/prt_zzz.json";
  write_file(tree.path() / extra, R"({"id":"prt_zz)");

  const Reading reading = read_tree(tree.path());

  CHECK(reading.problems.size() == 1);
  CHECK(reading.what_of(extra) == "breaks off\n");
  for (const auto& [raw, frame] : reading.frames) {
    if (frame.name == extra) CHECK(frame.session == session);
    if (raw != read_file(real_tree() / part)) continue;
    CHECK(frame.session == session);
    // Its message's id still tells the moment: all of it happened on one afternoon.
    REQUIRE(frame.time_ms.has_value());
    CHECK(std::abs(*frame.time_ms - 1'796'070'900'000) < 600'000);
  }
}

TEST_CASE("files that contradict their place are reported and count by what they say",
          "[ingest][source]") {
  const TreeCopy tree;
  const std::string part = a_file("part/");
  const std::string copy = fs::path(part).parent_path().string() + "/prt_copy.json";
  fs::copy_file(tree.path() / part, tree.path() / copy);
  const std::string message = a_file("message/");
  const std::string other = "message/ses_other/" + fs::path(message).filename().string();
  fs::create_directories(tree.path() / "message/ses_other");
  fs::copy_file(tree.path() / message, tree.path() / other);
  write_file(tree.path() / "message/ses_other/msg_list.json", "[]");
  write_file(tree.path() / "message/ses_other/msg_nothing.json", "{}");

  const Reading reading = read_tree(tree.path());
  TempStore store;
  const auto counts = take_in(store, reading);

  CHECK(reading.what_of(copy) == "names another id than its file does\n");
  CHECK(reading.what_of(other) == "names another session than its place does\n");
  CHECK(reading.what_of("message/ses_other/msg_list.json") == "JSON, but no object\n");
  CHECK(reading.what_of("message/ses_other/msg_nothing.json") ==
        "message without message id or role\n");
  CHECK(reading.problems.size() == 4);
  CHECK(counts.duplicates == 2);
}

TEST_CASE("links in a tree are reported and never followed", "[ingest][source]") {
  const TreeCopy tree;
  const TempDir outside;
  write_file(outside.path() / "secret.json", R"({"secret":1})");
  const std::string file = "message/" + session_of(a_file("message/")) + "/msg_link.json";
  fs::create_symlink(outside.path() / "secret.json", tree.path() / file);
  fs::create_directory_symlink(outside.path(), tree.path() / "message/ses_linked");
  fs::create_directory_symlink(outside.path(), tree.path() / "todo");

  const Reading reading = read_tree(tree.path());

  for (const auto& name : {file, std::string("message/ses_linked"), std::string("todo")})
    CHECK(reading.what_of(name) == "a link, not followed\n");
  CHECK(reading.problems.size() == 3);
  for (const auto& delivered : reading.frames)
    CHECK(delivered.raw.find("secret") == std::string::npos);
}

TEST_CASE("other files of a tree are kept under the name of their folder, logins are not read",
          "[ingest][source]") {
  const TempDir tree;
  const auto write = [&](const std::string& file, const std::string& bytes) {
    fs::create_directories((tree.path() / file).parent_path());
    write_file(tree.path() / file, bytes);
  };
  write("session/global/ses_1.json", R"({"id":"ses_1","time":{"created":1796070928891}})");
  write("todo/ses_1.json", "[]");
  write("share/deep/er/ses_1.json", R"({"url":"x"})");
  write("settings.json", "{}");
  write("migration", "2");
  write("auth.json", "login");
  write("mcp-auth.json", "login");
  write("Account/a.json", "login");
  write("message/ses_1/credentials.json", "login");

  const Reading reading = read_tree(tree.path());

  CHECK(reading.problems.empty());
  std::vector<std::string> seen;
  for (const auto& [raw, frame] : reading.frames)
    seen.push_back(frame.name + "|" + frame.session + "|" + raw);
  CHECK(seen ==
        std::vector<std::string>{R"(|ses_1|{"id":"ses_1","time":{"created":1796070928891}})",
                                 R"(share|ses_1|{"url":"x"})",
                                 "todo|ses_1|[]",
                                 "settings||{}"});
}

TEST_CASE("a file above the limit and a folder too deep are reported, not read",
          "[ingest][source]") {
  const TempDir tree;
  fs::create_directories(tree.path() / "session/global");
  write_file(tree.path() / "session/global/ses_1.json", "");
  fs::resize_file(tree.path() / "session/global/ses_1.json", kMaxStorageFileBytes + 1);
  std::string deep = "todo";
  for (int i = 1; i < 16; ++i)
    deep += "/d";
  fs::create_directories(tree.path() / deep / "e");
  write_file(tree.path() / deep / "e/f.json", "{}");

  const Reading reading = read_tree(tree.path());

  CHECK(reading.what_of("session/global/ses_1.json") == "larger than 1 GiB, not read\n");
  CHECK(reading.what_of(deep) == "a folder too deep to be OpenCode's, not read\n");
  CHECK(reading.problems.size() == 2);
  for (const auto& delivered : reading.frames)
    CHECK(delivered.frame.shape == Shape::Note);
}

TEST_CASE("a tree that is not there is an error, and so is a sink that fails", "[ingest][source]") {
  const auto missing =
      read_storage_tree("/nowhere/storage", [](const Frame&) -> Result<void> { return ok(); });
  const auto failed = read_storage_tree(
      real_tree(), [](const Frame&) -> Result<void> { return Error(ErrorCode::Io, "full"); });

  REQUIRE(missing.has_error());
  CHECK(missing.error().code() == ErrorCode::NotFound);
  REQUIRE(failed.has_error());
  CHECK(failed.error().message() == "full");
}

}  // namespace respool::test
