#include <algorithm>

#include <fcntl.h>

#include <catch2/catch.hpp>
#include <sys/file.h>
#include <sys/stat.h>

#include "schema/descriptor.h"

#include "tests/cli/home.h"
#include "tests/support/recording_text.h"

namespace respool::test {
namespace {

const std::string kEdit = data_path("captures/1.18.33/serve/tools-edit/event.sse").string();
const std::string kParent = data_path("captures/1.18.33/store/export-parent.json").string();
const std::string kChild = data_path("captures/1.18.33/store/export-child.json").string();
const std::string kRun = data_path("captures/1.18.33/run/tool-bash.ndjson").string();

std::vector<std::string> sorted_lines(const std::string& text) {
  auto lines = lines_of(text);
  std::ranges::sort(lines);
  return lines;
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

std::string heads(const Home& home) {
  return home.run({"verify", "--report", "--quiet"}).out;
}

std::string file_of(const Home& home, const std::string& name) {
  return (home.path() / name).string();
}

}  // namespace

TEST_CASE("every question has the same answer in a store that took in a bundle", "[cli][bundle]") {
  const Home a;
  const Home b;
  REQUIRE(a.run({"ingest", kParent, kChild, kEdit, kRun, kPlain}).exit_code == 0);

  const auto exported = a.run({"export", "--all"});
  REQUIRE(exported.exit_code == 0);
  CHECK(exported.out.starts_with("respool bundle 1\n"));
  const auto taken = b.run({"ingest", "-", "--json"}, exported.out);

  INFO(taken.err);
  CHECK(taken.exit_code == 0);
  CHECK(taken.out.starts_with("{\"schema\":\"respool.ingest/1\",\"observations\":"));
  CHECK(has(taken.out, "\"duplicates\":0,"));
  CHECK_FALSE(heads(a).empty());
  CHECK(heads(b) == heads(a));
  CHECK(b.run({"verify"}).exit_code == 0);
  for (const auto* question :
       {"sessions", "usage", "tools", "files", "permissions", "bindings", "lineage", "gaps"}) {
    INFO(question);
    const auto asked = a.run({question, "--json"});
    CHECK(sorted_lines(b.run({question, "--json"}).out) == sorted_lines(asked.out));
  }
  for (const auto& line : lines_of(a.run({"sessions", "--json"}).out)) {
    const auto at = line.find("ses_");
    const std::string session = line.substr(at, line.find('"', at) - at);
    CHECK(b.run({"show", session}).out == a.run({"show", session}).out);
    CHECK(b.run({"replay", session}).out == a.run({"replay", session}).out);
    CHECK(b.run({"events", session, "--raw"}).out == a.run({"events", session, "--raw"}).out);
  }

  // From there back, nothing changes.
  const auto back = b.run({"export", "--all"});
  const auto home = a.run({"ingest", "-", "--json"}, back.out);
  CHECK(home.exit_code == 0);
  CHECK(has(home.out, "\"appended\":0,"));
  CHECK(a.run({"export", "--all"}).out == exported.out);
}

TEST_CASE("an export is a file when it is whole, and says where the next one goes on",
          "[cli][bundle]") {
  const Home a;
  const Home b;
  REQUIRE(a.run({"ingest", kRun}).exit_code == 0);
  const auto first = file_of(a, "first.bundle");

  const auto exported = a.run({"export", "@last:any", "--output", first, "--json"});

  REQUIRE(exported.exit_code == 0);
  CHECK(has(exported.out, "\"schema\":\"respool.export/1\""));
  CHECK(has(exported.out, "\"format\":\"bundle\""));
  CHECK_FALSE(fs::exists(first + ".incomplete"));
  struct stat info {};
  REQUIRE(::stat(first.c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0600);
  const auto at = exported.out.find("\"cursor\":\"") + 10;
  const std::string cursor = exported.out.substr(at, exported.out.find('"', at) - at);
  CHECK(b.run({"ingest", first}).exit_code == 0);

  REQUIRE(a.run({"ingest", kEdit}).exit_code == 0);
  const auto later = file_of(a, "later.bundle");
  CHECK(a.run({"export", "--all", "--since", cursor, "--output", later}).exit_code == 0);
  CHECK(b.run({"ingest", later}).exit_code == 0);
  CHECK(heads(b) == heads(a));

  const std::string before = read_file(first);
  const auto refused = a.run({"export", "--all", "--output", first});
  CHECK(refused.exit_code == 2);
  CHECK(read_file(first) == before);
  CHECK(has(refused.err, "is there already"));
  CHECK(a.run({"export", "--all", "--output", first, "--force"}).exit_code == 0);
  CHECK(read_file(first) == a.run({"export", "--all"}).out);
}

TEST_CASE("what an export left of a crash is written over, what another one writes is not",
          "[cli][bundle]") {
  const Home home;
  REQUIRE(home.run({"ingest", kRun}).exit_code == 0);
  const auto path = file_of(home, "b");
  write_file(path + ".incomplete", std::string(1 << 20, 'x'));
  {
    const Descriptor other(::open((path + ".incomplete").c_str(), O_RDWR | O_CLOEXEC));
    REQUIRE(::flock(other.get(), LOCK_EX | LOCK_NB) == 0);
    const auto refused = home.run({"export", "--all", "--output", path});
    CHECK(refused.exit_code == 3);
    CHECK(has(refused.err, "another process"));
    CHECK(fs::file_size(path + ".incomplete") == 1 << 20);
  }
  CHECK(home.run({"export", "--all", "--output", path}).exit_code == 0);
  CHECK(read_file(path) == home.run({"export", "--all"}).out);
  CHECK_FALSE(fs::exists(path + ".incomplete"));

  CHECK(home.run({"export", "--all", "--output", "/no/such/folder/b"}).exit_code == 3);
}

TEST_CASE("an export that is asked for wrongly says what there is", "[cli][bundle]") {
  const Home home;
  CHECK(home.run({"export", "--all"}).exit_code == 3);
  REQUIRE(home.run({"ingest", kRun}).exit_code == 0);

  const auto format = home.run({"export", "--all", "--format", "tar"});
  CHECK(format.exit_code == 2);
  CHECK(has(format.err, "bundle"));
  CHECK(home.run({"export"}).exit_code == 2);
  CHECK(home.run({"export", "--all", "@last:any"}).exit_code == 2);
  CHECK(home.run({"export", "ses_none"}).exit_code == 3);
  CHECK(home.run({"export", "--all", "--since", "yesterday"}).exit_code == 2);
  CHECK(home.run({"export", "--all", "--since", "c9999"}).exit_code == 2);
}

TEST_CASE(
    "a damaged bundle ends in exit 1, one of a newer format in 4, and the paths beside it are read",
    "[cli][bundle]") {
  const Home a;
  REQUIRE(a.run({"ingest", kRun}).exit_code == 0);
  const std::string bundle = a.run({"export", "--all"}).out;
  const auto path = file_of(a, "b");

  const Home cut;
  write_file(path, bundle.substr(0, bundle.size() / 2));
  const auto damaged = cut.run({"ingest", path, kEdit});
  CHECK(damaged.exit_code == 1);
  CHECK(has(damaged.err, "breaks off"));
  CHECK(has(damaged.err, path + ": byte "));
  CHECK(lines_of(cut.run({"sessions", "--json"}).out).size() == 1);
  CHECK(cut.run({"verify"}).exit_code == 0);

  const Home newer;
  std::string other = bundle;
  other[other.find('1')] = '2';
  write_file(path, other);
  const auto refused = newer.run({"ingest", path, kEdit});
  CHECK(refused.exit_code == 4);
  CHECK(has(refused.err, "format 2"));
  CHECK(lines_of(newer.run({"sessions", "--json"}).out).size() == 1);

  write_file(path, bundle);
  CHECK(newer.run({"ingest", "--host", "ci-7", path}).exit_code == 3);
}

TEST_CASE("an ingest of a bundle that is killed is completed by the next one", "[cli][bundle]") {
  const Home a;
  std::string lines;
  for (int number = 0; number < 3000; ++number)
    lines += run_line("ses_" + std::to_string(number % 7), number, 2000) + "\n";
  REQUIRE(a.run({"ingest", "-"}, lines).exit_code == 0);
  const auto path = file_of(a, "b");
  REQUIRE(a.run({"export", "--all", "--output", path}).exit_code == 0);

  for (const unsigned after : {10'000U, 40'000U, 90'000U, 200'000U}) {
    const TempDir dir;
    const std::string store = (dir.path() / "store").string();
    run_respool_and_kill({"--store", store, "ingest", path}, after);

    const auto again = run_respool({"--store", store, "ingest", path}, {{"HOME", "/nonexistent"}});

    INFO(after << " us: " << again.err);
    CHECK(again.exit_code == 0);
    const auto report =
        run_respool({"--store", store, "verify", "--report"}, {{"HOME", "/nonexistent"}});
    CHECK(report.exit_code == 0);
    CHECK(report.out == heads(a));
  }
}

}  // namespace respool::test
