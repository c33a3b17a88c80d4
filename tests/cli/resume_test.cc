#include <thread>

#include <catch2/catch.hpp>

#include "tests/cli/home.h"
#include "tests/support/fake_opencode.h"
#include "tests/support/small_export.h"

namespace respool::test {
namespace {

const std::string& kSession = kSmallSession;

// A machine whose store knows one session of it, made in work().
class Machine : public FakeOpenCode {
 public:
  explicit Machine(const std::string& host = "here") {
    std::vector<std::string> words = {"ingest", "-"};
    if (!host.empty()) words.insert(words.end(), {"--host", host});
    const auto taken = respool(words, small_export(work(), {{0, "The number is 7319.", "Noted."}}));
    INFO(taken.err);
    REQUIRE(taken.exit_code == 0);
  }

  ProcessResult decide(const fs::path& directory, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = {
        "resume", kSession, "--dir", directory.string(), "--dry-run", "--json"};
    words.insert(words.end(), more.begin(), more.end());
    return respool(words, "");
  }
  std::string rung(const fs::path& directory, const std::vector<std::string>& more = {}) const {
    const auto decided = decide(directory, more);
    INFO(decided.err);
    CHECK_FALSE(was_started());
    return json_field(decided.out, "rung");
  }
};

}  // namespace

TEST_CASE("resume decides before it starts anything", "[cli][resume]") {
  const Machine machine;
  const fs::path below = machine.work() / "below";
  const fs::path link = machine.home() / "link";
  const fs::path other = machine.home() / "other";
  fs::create_directories(below);
  fs::create_directories(other);
  fs::create_directory_symlink(machine.work(), link);

  CHECK(machine.rung(machine.work()) == "native");
  CHECK(machine.rung(link) == "native");
  CHECK(machine.rung(below) == "import");
  CHECK(machine.rung(other) == "import");
  CHECK(machine.rung(machine.work(), {"--rung", "prefix"}) == "prefix");
  const auto decided = machine.decide(other);
  CHECK(decided.out.find("\"schema\":\"respool.decision/1\"") != std::string::npos);
  CHECK(decided.out.find(machine.work().string()) != std::string::npos);
  CHECK(decided.out.find(other.string()) != std::string::npos);
}

TEST_CASE("without --dir nobody guesses: both paths and both commands are named", "[cli][resume]") {
  const Machine machine;
  const fs::path other = machine.home() / "other";
  fs::create_directories(other);

  const auto refused =
      run_respool({"resume", kSession}, machine.environment(), "go on", other.string());

  CHECK(refused.exit_code == 1);
  CHECK(refused.out.empty());
  CHECK(refused.err.find(machine.work().string()) != std::string::npos);
  CHECK(refused.err.find(other.string()) != std::string::npos);
  CHECK(refused.err.find("--dir " + machine.work().string()) != std::string::npos);
  CHECK(refused.err.find("--dir " + other.string()) != std::string::npos);
  CHECK_FALSE(machine.was_started());
}

TEST_CASE("a session of another host, or of none that is known, is imported", "[cli][resume]") {
  CHECK(Machine("there").rung(Machine().work()) == "import");
  CHECK(Machine("").rung(fs::temp_directory_path()) == "import");
}

TEST_CASE("a session whose directory is gone goes on elsewhere", "[cli][resume]") {
  const Machine machine;
  const fs::path other = machine.home() / "other";
  fs::create_directories(other);
  fs::remove_all(machine.work());

  const auto decided =
      run_respool({"resume", kSession, "--dir", other.string(), "--dry-run", "--json"},
                  machine.environment(),
                  "",
                  machine.home().string());

  CHECK(json_field(decided.out, "rung") == "import");
  CHECK(json_field(decided.out, "reason").find("gone") != std::string::npos);
}

TEST_CASE("what is no session of ours is refused with a word on what to do", "[cli][resume]") {
  const Machine machine;

  const auto unknown = machine.respool({"resume", "ses_nobody"}, "go on");
  CHECK(unknown.exit_code == 3);
  CHECK(unknown.err.find("ses_nobody") != std::string::npos);
  const auto malformed = machine.respool({"resume", "../../etc/passwd"}, "go on");
  CHECK(malformed.exit_code == 3);
  const auto impossible = machine.respool(
      {"resume", kSession, "--dir", machine.home().string(), "--rung", "native"}, "go on");
  CHECK(impossible.exit_code == 1);
  CHECK_FALSE(machine.was_started());
}

TEST_CASE("without OpenCode a resume says where the context can be had", "[cli][resume]") {
  const Machine machine;
  fs::remove(machine.program());

  const auto refused = machine.respool({"resume", kSession}, "go on");

  CHECK(refused.exit_code == 3);
  CHECK(refused.err.find("respool replay") != std::string::npos);
}

TEST_CASE("a second continuation of a session is refused and says who has it", "[cli][resume]") {
  Machine machine;
  machine.does("touch \"$LAB/started\"; while [ ! -e \"$LAB/go\" ]; do sleep 0.05; done");
  std::thread first([&] { machine.respool({"resume", kSession}, "go on"); });
  while (!fs::exists(machine.lab() / "started"))
    std::this_thread::yield();

  const auto second = machine.respool({"resume", kSession}, "me too");
  write_file(machine.lab() / "go", "");
  first.join();

  CHECK(second.exit_code == 3);
  CHECK(second.err.find("is being continued by process") != std::string::npos);
  CHECK(second.err.find("fork") != std::string::npos);
}

TEST_CASE("a dead session is said to be dead, and the text is the last rung", "[cli][resume]") {
  Machine machine;
  // This OpenCode knows no session, says that it imported one, and answers a fresh one.
  machine.does(R"(case "$2 $*" in
*"--session "*) echo 'Error: Session not found' >&2; exit 1;;
esac
if [ "$1" = import ]; then echo "Imported session"; exit 0; fi
cp "$LAB/stdin" "$LAB/seed"; echo x >> "$LAB/seeds"
echo '{"type":"step_start","timestamp":1796071910000,"sessionID":"ses_dd1d7ed5bffeNEWNEWNEWNEWNE","part":{"id":"prt_22e2812d0001aaaaaaaaaaaaaa","messageID":"msg_22e2812d0001aaaaaaaaaaaaaa","sessionID":"ses_dd1d7ed5bffeNEWNEWNEWNEWNE","type":"step-start"}}'
exit 0)");

  const auto resumed = machine.respool({"resume", kSession}, "And now?\n");

  INFO(resumed.err);
  CHECK(resumed.err.find("native did not work") != std::string::npos);
  CHECK(resumed.err.find("import did not work") != std::string::npos);
  CHECK(resumed.err.find("does not hold") != std::string::npos);
  CHECK(resumed.exit_code == 1);  // no database of this OpenCode tells that the text is there
  const std::string seed = read_file(machine.lab() / "seed");
  CHECK(seed.starts_with("<respool-replay id=\""));
  CHECK(seed.find("| The number is 7319.") != std::string::npos);
  CHECK(seed.ends_with("\nAnd now?\n"));
  CHECK(read_file(machine.lab() / "seeds") == "x\n");
  const auto bindings = machine.respool({"bindings", kSession, "--json"}, "");
  CHECK(bindings.out.find("\"state\":\"dead\"") != std::string::npos);
  const auto lineage = machine.respool({"lineage", "--json"}, "");
  CHECK(lineage.out.find("\"kind\":\"resume\"") == std::string::npos);
}

}  // namespace respool::test
