#include <csignal>

#include <catch2/catch.hpp>
#include <sys/stat.h>

#include "ingest/opencode/runtime.h"

#include "tests/cli/home.h"
#include "tests/support/fake_opencode.h"

namespace respool::test {
namespace {

using Lines = std::vector<std::string>;

const std::string& text_simple() {
  static const std::string bytes = read_file(data_path("captures/1.18.33/run/text-simple.ndjson"));
  return bytes;
}

std::string raw_events(const FakeOpenCode& fake) {
  return fake.respool({"events", "--raw"}).out;
}

// The permissions of an OPENCODE_CONFIG_CONTENT: at the top, or of an agent.
std::string rule_of(const std::string& config, const std::string& tool, const char* agent) {
  std::string permission = json_field(config, "permission");
  if (agent != nullptr)
    permission = json_field(json_field(json_field(config, "agent"), agent), "permission");
  return json_field(permission, tool);
}

}  // namespace

TEST_CASE("a run passes OpenCode its flags as words and no prompt, the files last, then \"--\"",
          "[cli][run]") {
  FakeOpenCode fake;
  fake.prints(text_simple());
  write_file(fake.work() / "a.txt", "a");
  write_file(fake.work() / "b.txt", "b");

  REQUIRE(fake.run({"--model",
                    "lab/one",
                    "--agent",
                    "plan",
                    "--variant",
                    "high",
                    "--title",
                    "Secret plan",
                    "--thinking",
                    "--auto",
                    "--file",
                    "a.txt",
                    "-f",
                    "b.txt",
                    "--",
                    "--print-logs",
                    "--log-level=DEBUG"})
              .exit_code == 0);

  CHECK(fake.seen_lines("argv") == Lines{"run",
                                         "--format",
                                         "json",
                                         "--dir",
                                         fake.work().string(),
                                         "--model",
                                         "lab/one",
                                         "--agent",
                                         "plan",
                                         "--variant",
                                         "high",
                                         "--title",
                                         "Secret plan",
                                         "--thinking",
                                         "--auto",
                                         "--print-logs",
                                         "--log-level=DEBUG",
                                         "--file",
                                         "a.txt",
                                         "--file",
                                         "b.txt",
                                         "--"});
}

TEST_CASE("the flag that approves everything has the name this OpenCode knows it by",
          "[cli][run]") {
  const auto [version, flag] = GENERATE(table<std::string, std::string>({
      {"1.1.65", "--dangerously-skip-permissions"},
      {"1.17.11", "--dangerously-skip-permissions"},
      {"1.18.29", "--auto"},
      {"2.0.3", "--auto"},
  }));
  INFO(version);
  FakeOpenCode fake(version);
  fake.prints(text_simple());

  REQUIRE(fake.run({"--auto"}).exit_code == 0);

  CHECK(fake.seen_lines("argv") ==
        Lines{"run", "--format", "json", "--dir", fake.work().string(), flag, "--"});
}

TEST_CASE("a session to continue and to copy is named in words", "[cli][run]") {
  FakeOpenCode fake;
  fake.prints(text_simple());

  REQUIRE(fake.run({"--session", "ses_1", "--fork"}).exit_code == 0);
  CHECK(fake.seen_lines("argv") == Lines{"run",
                                         "--format",
                                         "json",
                                         "--dir",
                                         fake.work().string(),
                                         "--session",
                                         "ses_1",
                                         "--fork",
                                         "--"});
  REQUIRE(fake.run({"-c"}).exit_code == 0);
  CHECK(fake.seen_lines("argv") ==
        Lines{"run", "--format", "json", "--dir", fake.work().string(), "--continue", "--"});
}

TEST_CASE("the prompt goes to OpenCode's stdin, whole and with its end", "[cli][run]") {
  FakeOpenCode fake;
  fake.prints(text_simple());
  const std::string large(3 << 20, 'x');
  const std::string control = std::string("a\0b", 3) + "\x1b[1m \xff\n\n";

  for (const auto& prompt : {std::string("Do it.\n"), large, control}) {
    REQUIRE(fake.run({}, prompt).exit_code == 0);
    CHECK((fake.seen("stdin") == prompt));
  }
  REQUIRE(fake.run({"Say hello"}, "").exit_code == 0);
  CHECK(fake.seen("stdin") == "Say hello");
  REQUIRE(fake.run({"--", "Say", "--print-logs", "hello"}, "").exit_code == 0);
  CHECK(fake.seen("stdin") == "Say hello");
  CHECK(fake.seen("argv").find("hello") == std::string::npos);
  REQUIRE(fake.run({"--", "--print-logs", "--", "--now", "please"}, "").exit_code == 0);
  CHECK(fake.seen("stdin") == "--now please");
  CHECK(fake.seen("argv").find("please") == std::string::npos);

  const std::string raw = raw_events(fake);
  CHECK(raw.find('\0') == std::string::npos);
  CHECK(events_of(raw, "respool.prompt").size() == 6);
}

TEST_CASE("a message may be several words, and may follow a file", "[cli][run]") {
  FakeOpenCode fake;
  fake.prints(text_simple());
  write_file(fake.work() / "a.txt", "a");

  CHECK(fake.run({"Say", "hello"}, "").exit_code == 0);
  CHECK(fake.seen("stdin") == "Say hello");
  CHECK(fake.run({"--file", "a.txt", "Explain this"}, "").exit_code == 0);
  CHECK(fake.seen("stdin") == "Explain this");
}

TEST_CASE("a message and a text on stdin are both in the prompt, as OpenCode has it",
          "[cli][run]") {
  FakeOpenCode fake;
  fake.prints(text_simple());

  REQUIRE(fake.run({"Explain this"}, "the text\n").exit_code == 0);

  CHECK(fake.seen("stdin").starts_with("Explain this"));
  CHECK(fake.seen("stdin").find("the text") != std::string::npos);
}

TEST_CASE("OpenCode works in the directory asked for, with the user's file mask and no stale PWD",
          "[cli][run]") {
  FakeOpenCode fake;
  fake.prints(text_simple());
  const auto other = fake.home() / "other";
  fs::create_directories(other);

  const auto mask = ::umask(027);
  const auto result = fake.run({"--dir", other.string()},
                               "Do it.\n",
                               {{"PWD", "/elsewhere"}, {"OLDPWD", "/before"}, {"KEPT", "as is"}});
  ::umask(mask);

  REQUIRE(result.exit_code == 0);
  CHECK(fake.seen_lines("umask") == Lines{"0027"});
  CHECK(fake.seen_lines("cwd") == Lines{other.string()});
  CHECK(fake.seen("argv").find("--dir\n" + other.string() + "\n") != std::string::npos);
  for (const auto& line : fake.seen_lines("environ")) {
    CHECK_FALSE(line.starts_with("PWD="));
    CHECK_FALSE(line.starts_with("OLDPWD="));
  }
  CHECK(fake.seen_variable("KEPT") == "as is");
  CHECK(fake.seen_variable("RESPOOL_RUN").starts_with("run_"));
  CHECK(fake.seen_variable("RESPOOL_RUN") == fake.result("run"));
}

TEST_CASE("without a mode OpenCode's configuration stays as the operator set it", "[cli][run]") {
  FakeOpenCode fake;
  fake.prints(text_simple());

  REQUIRE(fake.run({}).exit_code == 0);
  CHECK(fake.seen("environ").find("OPENCODE_CONFIG_CONTENT") == std::string::npos);
  const std::string config = R"({ "model": "lab/one" })";
  REQUIRE(fake.run({"--mode", "default"}, "Do it.\n", {{"OPENCODE_CONFIG_CONTENT", config}})
              .exit_code == 0);
  CHECK(fake.seen_variable("OPENCODE_CONFIG_CONTENT") == config);
}

TEST_CASE("a mode is put on top of the operator's configuration, whose other keys stay",
          "[cli][run]") {
  FakeOpenCode fake;
  fake.prints(text_simple());
  const std::string operators =
      R"({"model":"lab/one","permission":{"webfetch":"ask","bash":{"git *":"allow"}},)"
      R"("agent":{"build":{"prompt":"Be brief.","permission":{"edit":"allow"}}}})";
  const auto config_with = [&](const Lines& arguments) {
    REQUIRE(fake.run(arguments, "Do it.\n", {{"OPENCODE_CONFIG_CONTENT", operators}}).exit_code ==
            0);
    return fake.seen_variable("OPENCODE_CONFIG_CONTENT");
  };

  const std::string plan = config_with({"--mode", "plan"});
  CHECK(json_field(plan, "model") == "lab/one");
  CHECK(json_field(json_field(json_field(plan, "agent"), "build"), "prompt") == "Be brief.");
  CHECK(rule_of(plan, "webfetch", nullptr) == "ask");
  for (const auto* tool : {"bash", "write", "edit", "patch", "task"}) {
    CHECK(rule_of(plan, tool, nullptr) == "deny");
    CHECK(rule_of(plan, tool, "build") == "deny");
  }

  const std::string full = config_with({"--mode", "full_access"});
  CHECK(json_field(full, "model") == "lab/one");
  CHECK(json_field(json_field(json_field(full, "agent"), "build"), "prompt") == "Be brief.");
  for (const auto* tool : {"*", "bash", "edit"}) {
    CHECK(rule_of(full, tool, nullptr) == "allow");
    CHECK(rule_of(full, tool, "build") == "allow");
  }
  CHECK(rule_of(config_with({"--mode", "plan", "--agent", "mine"}), "bash", "mine") == "deny");

  const auto broken =
      fake.run({"--mode", "plan"}, "Do it.\n", {{"OPENCODE_CONFIG_CONTENT", "{secret"}});
  CHECK(broken.exit_code == 2);
  CHECK(broken.err.find("secret") == std::string::npos);
  CHECK(fake.run({"--mode", "reckless"}).exit_code == 2);
}

TEST_CASE("what is recorded of a start names variables without values and shows no file or title",
          "[cli][run]") {
  FakeOpenCode fake;
  fake.prints(text_simple());
  write_file(fake.work() / "payroll.txt", "a");

  REQUIRE(fake.run({"--title", "Layoffs", "--file", "payroll.txt", "--", "--log-level=DEBUG"},
                   "Do it.\n",
                   {{"OPENCODE_SERVER_PASSWORD", "hunter2"}})
              .exit_code == 0);

  const std::string raw = raw_events(fake);
  const auto starts = events_of(raw, "respool.run.started");
  REQUIRE(starts.size() == 1);
  CHECK(json_field(starts[0], "argv") ==
        R"(["run","--format","json","--dir",")" + fake.work().string() +
            R"(","--title","[redacted]","--log-level=[redacted]","--file","[redacted]","--"])");
  CHECK(json_field(starts[0], "variables").find("\"OPENCODE_SERVER_PASSWORD\"") !=
        std::string::npos);
  CHECK(json_field(starts[0], "opencode_version") == "1.18.33");
  CHECK(json_field(starts[0], "opencode_path") == fake.program().string());
  for (const auto* secret : {"Layoffs", "payroll", "DEBUG", "hunter2"})
    CHECK(raw.find(secret) == std::string::npos);
}

TEST_CASE("what would run nowhere or unseen is refused before OpenCode starts", "[cli][run]") {
  FakeOpenCode fake;
  const auto refuses = [&](const Lines& arguments, const std::string& words) {
    const auto result = fake.run(arguments);
    INFO(result.err);
    CHECK(result.exit_code == 2);
    CHECK(result.err.find(words) != std::string::npos);
  };
  Lines many;
  Lines together;
  for (int i = 0; i < 17; ++i) {
    const auto file = fake.work() / ("file" + std::to_string(i));
    write_file(file, "");
    many.insert(many.end(), {"--file", file.string()});
    if (i >= 7) continue;
    fs::resize_file(file, 10 << 20);
    together.insert(together.end(), {"--file", file.string()});
  }
  write_file(fake.work() / "large", "");
  fs::resize_file(fake.work() / "large", (10 << 20) + 1);

  refuses({"--attach", "http://127.0.0.1:4096"}, "respool watch");
  refuses({"--", "--attach", "http://127.0.0.1:4096"}, "respool watch");
  refuses({"--", "--attach=http://127.0.0.1:4096"}, "respool watch");
  refuses({"--", "--format", "default"}, "--format");
  refuses({"--", "--password=x"}, "--password");
  refuses({"--", "--unheard-of", "word"}, "--unheard-of=VALUE");
  refuses(many, "17 files");
  refuses({"--file", "large"}, "10 MiB");
  refuses(together, "64 MiB");
  refuses({"--file", "absent"}, "absent is not a file");
  refuses({"--file", fake.work().string()}, "is not a file");
  refuses({"--fork"}, "--session");
  refuses({"--key", "chat", "--session", "ses_1"}, "--key");
  refuses({"--dir", "absent"}, "not a directory");
  refuses({"--turn-timeout", "soon"}, "soon");
  CHECK(fake.run({}, "").exit_code == 2);
  CHECK(fake.run({}, " \n\t").exit_code == 2);
  CHECK(fake.run({}, "Do it.\n", {{"OPENCODE_IDLE_TIMEOUT_SECONDS", "soon"}}).exit_code == 2);
  CHECK_FALSE(fake.was_started());
  CHECK_FALSE(fs::exists(fake.store()));
}

TEST_CASE("where OpenCode is not there, the answer says where was looked", "[cli][run]") {
  const FakeOpenCode fake;

  const auto named = fake.run({}, "Do it.\n", {{"RESPOOL_OPENCODE", "/no/such/opencode"}});
  CHECK(named.exit_code == 3);
  CHECK(named.err.find("/no/such/opencode") != std::string::npos);

  const auto home = fake.home().string();
  if (find_opencode({"HOME=" + home, "PATH=/bin"})) {
    WARN("a real OpenCode is installed for all users: its absence cannot be tried");
    return;
  }
  const auto nowhere = fake.run({}, "Do it.\n", {{"PATH", "/bin"}});
  CHECK(nowhere.exit_code == 3);
  CHECK(nowhere.err.find("PATH") != std::string::npos);
  CHECK(nowhere.err.find("RESPOOL_OPENCODE") != std::string::npos);
}

TEST_CASE("a program that cannot be executed is a failure that is on record", "[cli][run]") {
  const FakeOpenCode fake;
  const auto broken = fake.home() / "broken";
  for (const std::string content : {"#!/no/such/interpreter\n",
                                    "\x7f"
                                    "ELF nonsense"}) {
    write_file(broken, content);
    fs::permissions(broken, fs::perms::owner_all);

    const auto result = fake.run({}, "Do it.\n", {{"RESPOOL_OPENCODE", broken.string()}});

    CHECK(result.exit_code == 3);
    CHECK(result.err.find(broken.string() + " cannot be started") != std::string::npos);
  }
  const auto ends = events_of(raw_events(fake), "respool.run.ended");
  REQUIRE(ends.size() == 2);
  for (const auto& end : ends)
    CHECK(json_field(end, "outcome") == "failed");
}

}  // namespace respool::test
