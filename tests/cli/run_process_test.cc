#include <csignal>

#include <fcntl.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "tests/cli/home.h"
#include "tests/support/fake_opencode.h"

namespace respool::test {
namespace {

const std::string kForever = "while :; do sleep 1; done";

std::string text_simple() {
  return read_file(data_path("captures/1.18.33/run/text-simple.ndjson"));
}

// Starts a process in a session of its own, nobody's child, that no polite signal ends. Prints
// lines until it is there, and goes on then.
std::string with_stubborn_descendant(const std::string& marker, const std::string& then) {
  return "( setsid sh -c 'trap \"\" TERM INT HUP; : > \"$1/up\"; while :; do sleep 0.2; done' " +
         marker + " \"$LAB\" </dev/null & )\n" +
         "while [ ! -e \"$LAB/up\" ]; do echo '{\"type\":\"brand.new\"}'; sleep 0.05; done\n" +
         then;
}

class Pipe {
 public:
  Pipe() { REQUIRE(::pipe2(ends_, O_CLOEXEC) == 0); }
  ~Pipe() {
    close_reader();
    close_writer();
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  int writer() const { return ends_[1]; }
  void close_reader() { close(ends_[0]); }
  void close_writer() { close(ends_[1]); }

 private:
  static void close(int& end) {
    if (end >= 0) ::close(end);
    end = -1;
  }
  int ends_[2] = {-1, -1};
};

std::vector<std::string> ends_on_record(const FakeOpenCode& fake) {
  return events_of(fake.respool({"events", "--raw"}).out, "respool.run.ended");
}

std::vector<std::string> unique_lines(int count, std::size_t padding) {
  std::vector<std::string> lines;
  for (int i = 0; i < count; ++i) {
    lines.push_back(R"({"type":"text","timestamp":1796070388308,"sessionID":"ses_1","part":)"
                    R"({"id":"prt_)" +
                    std::to_string(i) +
                    R"(","messageID":"msg_1","sessionID":"ses_1","type":"text","text":")" +
                    std::string(padding, 'x') + "\"}}");
  }
  return lines;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const auto& line : lines)
    text += line + "\n";
  return text;
}

}  // namespace

TEST_CASE("nothing that OpenCode started is left when its run has ended by itself", "[cli][run]") {
  FakeOpenCode fake;
  const std::string marker = unique_marker();
  fake.prints(text_simple(), with_stubborn_descendant(marker, "exit 0"));

  CHECK(fake.run({}).exit_code == 0);

  CHECK(fs::exists(fake.lab() / "up"));
  CHECK(processes_with(marker) == 0);
}

TEST_CASE("nothing that OpenCode started is left when its run was ended for its silence",
          "[cli][run]") {
  FakeOpenCode fake;
  const std::string marker = unique_marker();
  fake.prints(text_simple(), with_stubborn_descendant(marker, "trap '' TERM; " + kForever));

  CHECK(fake.run({"--idle-timeout", "2"}).exit_code == 1);

  CHECK(fake.outcome() == "idle_timeout");
  CHECK(fs::exists(fake.lab() / "up"));
  CHECK(processes_with(marker) == 0);
}

TEST_CASE("nothing that OpenCode started outlives a respool that was killed", "[cli][run]") {
  FakeOpenCode fake;
  const std::string marker = unique_marker();
  const std::string own = unique_marker();
  fake.prints(text_simple(),
              with_stubborn_descendant(
                  marker, "exec sh -c 'trap \"\" TERM INT HUP; " + kForever + "' " + own));
  Background respool(
      {"run", "Do it."}, fake.environment(), "", fake.work().string(), Background::Streams());
  REQUIRE(eventually([&] { return processes_with(marker) > 0 && processes_with(own) > 0; }));

  respool.signal(SIGKILL);
  CHECK(respool.wait() == -1);

  CHECK(eventually([&] { return processes_with(marker) == 0 && processes_with(own) == 0; }));
  const auto ends = ends_on_record(fake);
  REQUIRE(ends.size() == 1);
  CHECK(json_field(ends[0], "outcome") == "aborted");
  CHECK(fs::is_empty(fake.spool()));
}

TEST_CASE("an interrupt ends OpenCode, and the run is on record as aborted", "[cli][run]") {
  FakeOpenCode fake;
  const std::string marker = unique_marker();
  fake.prints(text_simple(), with_stubborn_descendant(marker, kForever));
  Background respool({"run", "--result", (fake.lab() / "result").string(), "Do it."},
                     fake.environment(),
                     "",
                     fake.work().string(),
                     Background::Streams());
  REQUIRE(eventually([&] { return processes_with(marker) > 0; }));

  respool.signal(SIGINT);

  CHECK(respool.wait() == 130);
  CHECK(processes_with(marker) == 0);
  CHECK(fake.outcome() == "aborted");
  const auto ends = ends_on_record(fake);
  REQUIRE(ends.size() == 1);
  CHECK(json_field(ends[0], "outcome") == "aborted");
}

TEST_CASE("a reader that is gone does not hurt a run", "[cli][run]") {
  FakeOpenCode fake;
  const auto lines = unique_lines(1000, 100);
  fake.prints(joined(lines) + text_simple());
  for (const bool errors_too : {false, true}) {
    INFO("stderr too: " << errors_too);
    fake.prints(joined(lines) + text_simple(), "echo 'a remark' >&2; exit 0");
    Pipe pipe;
    pipe.close_reader();
    Background respool({"run", "--json", "--result", (fake.lab() / "result").string(), "Do it."},
                       fake.environment(),
                       "",
                       fake.work().string(),
                       {.out = pipe.writer(), .err = errors_too ? pipe.writer() : -1});
    pipe.close_writer();

    CHECK(respool.wait() == 0);

    CHECK(fake.outcome() == "completed");
    const auto ends = ends_on_record(fake);
    REQUIRE_FALSE(ends.empty());
    CHECK(json_field(ends.back(), "outcome") == "completed");
    fs::remove(fake.lab() / "result");
  }
}

TEST_CASE("a reader that stopped keeps neither OpenCode nor its record waiting", "[cli][run]") {
  FakeOpenCode fake;
  const auto lines = unique_lines(4096, 1000);
  fake.prints(joined(lines), "exit 0");
  Pipe pipe;
  Background respool({"run", "--json", "Do it."},
                     fake.environment(),
                     "",
                     fake.work().string(),
                     {.out = pipe.writer(), .err = -1});
  pipe.close_writer();

  CHECK(eventually([&] { return !ends_on_record(fake).empty(); }));

  respool.signal(SIGKILL);
  CHECK(respool.wait() == -1);
  CHECK(events_of(fake.respool({"events", "--raw"}).out, "text") == lines);
}

TEST_CASE("a reader of errors that stopped keeps neither OpenCode nor its record waiting",
          "[cli][run]") {
  FakeOpenCode fake;
  fake.prints(text_simple(), "head -c 1000000 /dev/zero | tr '\\0' 'x' | fold -w 99 >&2; exit 0");
  Pipe pipe;
  Background respool({"run", "Do it."},
                     fake.environment(),
                     "",
                     fake.work().string(),
                     {.out = -1, .err = pipe.writer()});
  pipe.close_writer();

  CHECK(eventually([&] { return !ends_on_record(fake).empty(); }));

  respool.signal(SIGKILL);
  CHECK(respool.wait() == -1);
}

TEST_CASE("a run with --json prints the raw lines and nothing else", "[cli][run]") {
  FakeOpenCode fake;
  for (const auto* name :
       {"text-simple", "control-bytes", "tool-bash", "unicode", "lone-surrogate", "large-text"}) {
    INFO(name);
    const auto bytes =
        read_file(data_path("captures/1.18.33/run/" + std::string(name) + ".ndjson"));
    fake.prints(bytes);

    const auto result = fake.run({"--json"});

    CHECK(result.exit_code == 0);
    CHECK((result.out == bytes));
    CHECK(result.err.empty());
  }
  const std::string odd = "a word that is no JSON\n{\"type\":\"brand.new\"}\n" + text_simple();
  CHECK(fake.prints(odd).run({"--json"}).out == odd);
}

TEST_CASE("a run prints the text of the answer, and its result where asked", "[cli][run]") {
  FakeOpenCode fake;
  fake.prints(text_simple());
  const std::string text =
      json_field(json_field(events_of(text_simple(), "text").at(0), "part"), "text");

  CHECK(fake.run({}).out == text + "\n");
  const auto result = fake.respool({"run", "--result", "-"});

  const auto printed = lines_of(result.out);
  CHECK(result.out.starts_with(text + "\n"));
  CHECK(json_field(printed.back(), "schema") == "respool.run/1");
  CHECK(json_field(printed.back(), "outcome") == "completed");
  CHECK(json_field(printed.back(), "exit") == "0");
  CHECK(json_field(printed.back(), "session") ==
        json_field(lines_of(text_simple())[0], "sessionID"));
  CHECK_FALSE(json_field(printed.back(), "duration_ms").empty());
  CHECK(json_field(fake.respool({"run", "--json", "--result", "-"}).out, "schema").empty());
  CHECK(fake.run({"--result", "/no/such/folder/file"}).exit_code != 0);
}

TEST_CASE("every line OpenCode printed is in the store, and the spool is empty", "[cli][run]") {
  FakeOpenCode fake;
  const auto bytes = read_file(data_path("captures/1.18.33/run/tool-multi-step-fix.ndjson"));
  fake.prints(bytes);

  REQUIRE(fake.run({}).exit_code == 0);

  CHECK(fs::is_empty(fake.spool()));
  std::vector<std::string> recorded;
  for (const auto& line : lines_of(fake.respool({"events", "--raw"}).out)) {
    if (!json_field(line, "type").starts_with("respool.")) recorded.push_back(line);
  }
  CHECK(recorded == lines_of(bytes));
  CHECK(fake.respool({"verify"}).exit_code == 0);
}

TEST_CASE("where the user wants no capture, a run leaves nothing", "[cli][run]") {
  FakeOpenCode fake;
  fake.prints(text_simple());

  const auto result = fake.run({"--json"}, "Do it.\n", {{"RESPOOL_CAPTURE", "off"}});

  CHECK(result.exit_code == 0);
  CHECK(result.out == text_simple());
  CHECK(fake.seen("stdin") == "Do it.\n");
  CHECK(fake.outcome() == "completed");
  CHECK_FALSE(fs::exists(fake.store()));
}

}  // namespace respool::test
