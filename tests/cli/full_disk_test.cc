#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <sys/mount.h>

#include "tests/cli/home.h"
#include "tests/support/fake_opencode.h"

namespace respool::test {
namespace {

// A file system of its own, small enough to fill.
class SmallDisk {
 public:
  SmallDisk() {
    const bool mounted =
        ::mount("tmpfs", dir_.path().c_str(), "tmpfs", 0, "size=24m,mode=700") == 0;
    INFO("these tests fill a file system of their own and mount it, which takes root");
    REQUIRE(mounted);
  }
  ~SmallDisk() { ::umount2(dir_.path().c_str(), MNT_DETACH); }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  const fs::path& path() const { return dir_.path(); }

  void fill() const {
    std::FILE* const file = std::fopen(filler().c_str(), "w");
    REQUIRE(file != nullptr);
    std::setvbuf(file, nullptr, _IONBF, 0);
    for (std::size_t size = 1 << 16; size > 0; size /= 2) {
      const std::string bytes(size, 'x');
      while (std::fwrite(bytes.data(), 1, size, file) == size) {
      }
      std::clearerr(file);
    }
    std::fclose(file);
  }
  void free() const { fs::remove(filler()); }

 private:
  fs::path filler() const { return dir_.path() / "filler"; }
  TempDir dir_;
};

std::string line(int number) {
  return fmt::format(
      R"({{"type":"text","timestamp":{},"sessionID":"ses_full1","part":{{"id":"prt_{}","sessionID":"ses_full1","messageID":"msg_1","type":"text","text":"line {}","time":{{"start":1,"end":2}}}}}})",
      kNow + number,
      number,
      number);
}

// Prints three lines, waits for the test, prints three more.
void talk_twice(FakeOpenCode& opencode) {
  std::string first, second;
  for (int number = 1; number <= 3; ++number) {
    first += line(number) + "\n";
    second += line(number + 3) + "\n";
  }
  write_file(opencode.lab() / "first", first);
  write_file(opencode.lab() / "second", second);
  opencode.does(
      "cat $LAB/first; touch $LAB/printed; while [ ! -e $LAB/go ]; do sleep 0.05; done; "
      "cat $LAB/second; touch $LAB/finished; exit 0");
}

void check_all_lines_are_there(const FakeOpenCode& opencode,
                               const std::map<std::string, std::string>& environment) {
  const auto events = opencode.respool({"events", "--raw", "--source", "run"}, "", environment);
  const auto lines = lines_of(events.out);
  REQUIRE(lines.size() == 6);
  for (int number = 1; number <= 6; ++number)
    CHECK(lines[static_cast<std::size_t>(number - 1)] == line(number));
  CHECK(opencode.respool({"gaps"}, "", environment).out.find("lost") == std::string::npos);
  CHECK(opencode.respool({"verify"}, "", environment).exit_code == 0);
}

}  // namespace

TEST_CASE("a full disk under the store does not stop OpenCode, and what it said comes in later",
          "[cli][run]") {
  const SmallDisk disk;
  FakeOpenCode opencode;
  talk_twice(opencode);
  const bool elsewhere = GENERATE(true, false);
  INFO((elsewhere ? "another disk takes the recording" : "no disk takes it: it waits in memory"));
  std::map<std::string, std::string> environment = {
      {"RESPOOL_STORE", (disk.path() / "store").string()}};
  if (!elsewhere) environment["XDG_STATE_HOME"] = (disk.path() / "state").string();
  REQUIRE(opencode.respool({"ingest", kPlain}, "", environment).exit_code == 0);
  disk.fill();

  const auto all = opencode.environment(environment);
  Background run({"run", "--json", "Do it."}, all, "", opencode.work().string(), {});
  REQUIRE(eventually([&] { return fs::exists(opencode.lab() / "printed"); }));
  if (!elsewhere) disk.free();
  write_file(opencode.lab() / "go", "");
  REQUIRE(eventually([&] { return fs::exists(opencode.lab() / "finished"); }));
  run.wait();
  INFO(run.err());
  CHECK(lines_of(run.out()).size() == 6);

  disk.free();
  check_all_lines_are_there(opencode, environment);
}

}  // namespace respool::test
