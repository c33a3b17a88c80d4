#include <algorithm>
#include <chrono>
#include <csignal>

#include <fcntl.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "engine/storage/owner_file.h"

#include "tests/cli/home.h"
#include "tests/support/fake_opencode.h"
#include "tests/support/recording_text.h"

namespace respool::test {
namespace {

using Lines = std::vector<std::string>;

fs::path store_of(const Home& home) {
  return home.path() / ".local/share/respool";
}
fs::path spool_of(const Home& home) {
  return store_of(home) / "spool";
}

Lines some_run() {
  return {start_note("run_a"),
          prompt_note("Do it."),
          run_line("ses_spooled", 1),
          end_note("run_a", "completed", kRunMs + 9)};
}

fs::path put_run(const Home& home, const std::string& id = "a") {
  return put_recording(
      spool_of(home), id, this_process(), true, recording_text(id, "run", some_run()));
}

// The lines of ses_spooled that the store has.
Lines spooled_lines(const Home& home) {
  Lines lines = lines_of(home.run({"events", "--raw"}).out);
  std::erase_if(lines, [](const std::string& line) {
    return line.find("\"sessionID\":\"ses_spooled\"") == std::string::npos;
  });
  return lines;
}

// Starts a command that drains and kills it so much later.
void kill_a_drain(const Home& home, unsigned after_ms) {
  Background draining({"sessions"},
                      {{"HOME", home.path().string()}},
                      "",
                      home.path().string(),
                      Background::Streams());
  ::usleep(after_ms * 1000);
  draining.signal(SIGKILL);
  draining.wait();
}

// The store's lock, held as another process would.
class Lock {
 public:
  explicit Lock(const Home& home)
      : file_(value(take_owner_file(store_of(home), std::chrono::milliseconds(0), "a long work"))) {
  }
  ~Lock() { ::close(file_); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  int file_;
};

std::map<std::string, std::string> environment_of(const Home& home) {
  return {{"HOME", home.path().string()}, {"TZ", "UTC"}, {"RESPOOL_HOST", "here"}};
}

}  // namespace

TEST_CASE("every command that answers from the store takes in first what waits in the spool",
          "[cli][spool]") {
  const Home home;
  home.run({"ingest", kPlain});
  const std::vector<Lines> commands = {{"sessions"},
                                       {"show", "ses_spooled"},
                                       {"events"},
                                       {"usage"},
                                       {"tools"},
                                       {"files"},
                                       {"permissions"},
                                       {"bindings"},
                                       {"lineage"},
                                       {"gaps"},
                                       {"stats"},
                                       {"replay", "ses_spooled"},
                                       {"verify"},
                                       {"rebuild"},
                                       {"ingest", kPlain}};
  for (const auto& command : commands) {
    INFO(command[0]);
    const auto recording = put_run(home, command[0]);

    const auto result = home.run(command);

    CHECK(result.exit_code == 0);
    CHECK_FALSE(fs::exists(recording));
  }
  CHECK(lines_of(home.run({"events", "--raw"}).out).size() > some_run().size());
  CHECK(home.run({"verify"}).exit_code == 0);
}

TEST_CASE("the first thing a store holds may be what waited in the spool", "[cli][spool]") {
  const Home home;
  put_run(home);

  const auto result = home.run({"events", "--raw"});

  CHECK(lines_of(result.out) == some_run());
  CHECK(fs::is_empty(spool_of(home)));
}

TEST_CASE("while another process writes the store, answers say how much waits", "[cli][spool]") {
  const Home home;
  home.run({"ingest", data_path("captures/1.18.33/store/export-tools.json").string()});
  const auto recording = put_run(home);
  const auto waiting = std::to_string(fs::file_size(recording));
  const Lock lock(home);

  for (const std::string command :
       {"sessions", "events", "usage", "tools", "files", "gaps", "stats"}) {
    INFO(command);
    const auto result = home.run({command, "--json"});
    CHECK(result.exit_code == 0);
    const auto lines = lines_of(result.out);
    CHECK_FALSE(lines.empty());
    for (const auto& line : lines)
      CHECK(json_field(line, "undrained_bytes") == waiting);
  }
  for (const std::string command : {"show", "replay"}) {
    INFO(command);
    const auto result = home.run({command, "@last:any", "--json"});
    CHECK(result.exit_code == 0);
    for (const auto& line : lines_of(result.out))
      CHECK(json_field(line, "undrained_bytes") == waiting);
  }
  const auto told = home.run({"sessions"});
  CHECK(told.exit_code == 0);
  CHECK(told.err.find(waiting + " bytes wait in the spool") != std::string::npos);
  CHECK(told.err.find("a long work") != std::string::npos);
  CHECK(home.run({"sessions", "--quiet"}).err.empty());
  CHECK(fs::exists(recording));
}

TEST_CASE("answers say nothing of waiting bytes when nothing waits", "[cli][spool]") {
  const Home home;
  home.run({"ingest", kPlain});
  put_run(home);
  home.run({"sessions"});
  const Lock lock(home);

  const auto result = home.run({"sessions", "--json"});

  CHECK(result.exit_code == 0);
  CHECK(result.out.find("ses_spooled") != std::string::npos);
  CHECK(result.out.find("undrained_bytes") == std::string::npos);
}

TEST_CASE("of a recording that is taken in but for its end, the end alone waits", "[cli][spool]") {
  const Home home;
  const auto recording = put_recording(spool_of(home),
                                       "a",
                                       this_process(),
                                       false,
                                       recording_text("a", "run", {run_line("ses_spooled", 1)}));
  REQUIRE(home.run({"sessions"}).exit_code == 0);
  const std::string more = run_line("ses_spooled", 2) + "\n";
  append_to(recording, more);
  const Lock lock(home);

  const auto result = home.run({"sessions", "--json"});

  CHECK(result.exit_code == 0);
  CHECK(json_field(result.out, "undrained_bytes") == std::to_string(more.size()));
}

TEST_CASE("with --wait a command waits for the other process, and then nothing is undrained",
          "[cli][spool]") {
  const Home home;
  home.run({"ingest", kPlain});
  const auto recording = put_run(home);
  auto lock = std::make_unique<Lock>(home);
  Background waiting({"sessions", "--json", "--wait", "60"},
                     environment_of(home),
                     "",
                     home.path().string(),
                     Background::Streams());

  lock.reset();

  CHECK(waiting.wait() == 0);
  CHECK(waiting.out().find("ses_spooled") != std::string::npos);
  CHECK(waiting.out().find("undrained_bytes") == std::string::npos);
  CHECK_FALSE(fs::exists(recording));
}

TEST_CASE("with --no-drain the spool stays as it is", "[cli][spool]") {
  const Home home;
  home.run({"ingest", kPlain});
  const auto recording = put_run(home);

  for (const Lines& command :
       {Lines{"sessions", "--no-drain"}, {"events", "--raw", "--no-drain"}}) {
    const auto result = home.run(command);
    CHECK(result.exit_code == 0);
    CHECK(result.out.find("ses_spooled") == std::string::npos);
  }
  CHECK(fs::exists(recording));
}

TEST_CASE("a recording that cannot be read is named, and the command answers all the same",
          "[cli][spool]") {
  const Home home;
  home.run({"ingest", kPlain});
  const auto bad = put_recording(spool_of(home), "bad", this_process(), true, "garbage\n");
  put_run(home);

  const auto result = home.run({"sessions"});

  CHECK(result.exit_code == 0);
  CHECK(result.err.find(bad.string()) != std::string::npos);
  CHECK(result.out.find("ses_spooled") != std::string::npos);
  CHECK(fs::exists(bad));
}

TEST_CASE("a recording that somebody mailed says what it says in the spool", "[cli][spool]") {
  const Home spooled;
  const Home mailed;
  const Home piped;
  const auto recording = put_run(spooled);
  const std::string text = read_file(recording);
  write_file(mailed.path() / "mailed", text);

  REQUIRE(mailed.run({"ingest", "mailed"}).exit_code == 0);
  write_file(piped.path() / "text", text);
  const std::string pipe = "cat '" + (piped.path() / "text").string() + "' | HOME='" +
                           piped.path().string() + "' '" RESPOOL_BINARY "' ingest --quiet -";
  REQUIRE(std::system(pipe.c_str()) == 0);

  for (const Lines& command :
       {Lines{"events", "--raw"}, {"show", "@last:any", "--json"}, {"gaps"}}) {
    INFO(command[0]);
    const auto expected = spooled.run(command).out;
    CHECK(mailed.run(command).out == expected);
    CHECK(piped.run(command).out == expected);
  }
}

TEST_CASE("killing a command that drains loses nothing, wherever it is", "[cli][spool][crash]") {
  constexpr int kLines = 20'000;
  Lines lines;
  for (int i = 0; i < kLines; ++i)
    lines.push_back(run_line("ses_spooled", i, 60));
  const std::string text = recording_text("a", "run", lines);
  // The moments are only tried one after another: whatever each of them hits, all must be there.
  for (const unsigned after_ms : {40U, 90U, 150U, 250U, 400U, 600U, 900U}) {
    INFO("killed after " << after_ms << " ms");
    const Home home;
    home.run({"ingest", kPlain});
    const auto recording = put_recording(spool_of(home), "a", this_process(), true, text);
    for (int again = 0; again < 3 && fs::exists(recording); ++again)
      kill_a_drain(home, after_ms);

    const auto taken = spooled_lines(home);

    CHECK((taken == lines));
    CHECK_FALSE(fs::exists(recording));
    const auto verified = home.run({"verify"});
    INFO(verified.out);
    CHECK(verified.exit_code == 0);
  }
}

TEST_CASE("killing the command that makes the store loses nothing that waits",
          "[cli][spool][crash]") {
  for (unsigned after_ms = 4; after_ms <= 64; after_ms += 4) {
    INFO("killed after " << after_ms << " ms");
    const Home home;
    put_run(home);
    kill_a_drain(home, after_ms);

    const auto result = home.run({"events", "--raw"});

    CHECK(result.exit_code == 0);
    CHECK(result.err.empty());
    CHECK(lines_of(result.out) == some_run());
  }
}

}  // namespace respool::test
