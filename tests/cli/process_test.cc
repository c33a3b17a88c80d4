#include <csignal>
#include <cstdlib>

#include <fcntl.h>
#include <pty.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <sys/ioctl.h>
#include <sys/wait.h>

#include "tests/cli/home.h"

namespace respool::test {

TEST_CASE("on a pseudo-terminal tables fit its width", "[cli]") {
  const Home home;
  home.run({"ingest", kPlain});
  int terminal = -1;
  winsize size{.ws_row = 24, .ws_col = 60, .ws_xpixel = 0, .ws_ypixel = 0};
  const pid_t child = ::forkpty(&terminal, nullptr, nullptr, &size);
  REQUIRE(child >= 0);
  if (child == 0) {
    ::setenv("HOME", home.path().c_str(), 1);
    ::setenv("NO_COLOR", "1", 1);
    ::execl(RESPOOL_BINARY, RESPOOL_BINARY, "sessions", nullptr);
    ::_exit(127);
  }
  std::string out;
  char buffer[4096];
  for (ssize_t got = 0; (got = ::read(terminal, buffer, sizeof buffer)) > 0;)
    out.append(buffer, static_cast<std::size_t>(got));
  ::close(terminal);
  int status = 0;
  ::waitpid(child, &status, 0);

  CHECK(WEXITSTATUS(status) == 0);
  const auto lines = lines_of(out);
  REQUIRE(lines.size() == 2);
  for (const auto& line : lines)
    CHECK(line.size() <= 61);
}

TEST_CASE("output that cannot be written is a failure, not a success", "[cli]") {
  const Home home;
  home.run({"ingest", data_path("captures/1.18.33/serve/tools-edit/event.sse").string()});
  for (const std::string command : {"sessions", "events"}) {
    INFO(command);
    const std::string line = "HOME='" + home.path().string() + "' '" RESPOOL_BINARY "' " + command +
                             " --json > /dev/full 2>/dev/null";
    CHECK(WEXITSTATUS(std::system(line.c_str())) == 3);
  }
}

TEST_CASE("the first interrupt ends an ingest that waits, and keeps what it had", "[cli]") {
  const Home home;
  int input[2];
  REQUIRE(::pipe(input) == 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::setenv("HOME", home.path().c_str(), 1);
    ::dup2(input[0], STDIN_FILENO);
    ::close(input[0]);
    ::close(input[1]);
    ::execl(RESPOOL_BINARY, RESPOOL_BINARY, "ingest", "--quiet", "-", nullptr);
    ::_exit(127);
  }
  ::close(input[0]);
  const std::string bytes = read_file(data_path("captures/1.18.33/serve/tools-edit/event.sse"));
  REQUIRE(::write(input[1], bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  // The pipe is empty once it was read: only then is the child waiting.
  int unread = 1;
  while (unread > 0)
    REQUIRE(::ioctl(input[1], FIONREAD, &unread) == 0);

  // The end of the input frees a child that the interrupt caught between its check and its read.
  ::kill(child, SIGINT);
  ::close(input[1]);
  int status = 0;
  ::waitpid(child, &status, 0);

  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 130);
  CHECK(lines_of(home.run({"events", "--raw"}).out) == delivered_lines(bytes));
}

TEST_CASE("events follow what is recorded, each once, until interrupted", "[cli]") {
  const Home home;
  home.run({"ingest", kPlain});
  const auto out = home.path() / "followed";
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::setenv("HOME", home.path().c_str(), 1);
    ::dup2(::open(out.c_str(), O_WRONLY | O_CREAT, 0600), STDOUT_FILENO);
    ::execl(RESPOOL_BINARY, RESPOOL_BINARY, "events", "--follow", "--raw", nullptr);
    ::_exit(127);
  }
  const auto wait_for = [&](std::size_t lines) {
    for (int i = 0; i < 1000 && lines_of(fs::exists(out) ? read_file(out) : "").size() < lines; ++i)
      ::usleep(10'000);
  };
  const auto before = lines_of(home.run({"events", "--raw"}).out).size();
  wait_for(before);
  home.run({"ingest", data_path("captures/1.18.33/run/text-simple.ndjson").string()});
  const auto all = lines_of(home.run({"events", "--raw"}).out);
  wait_for(all.size());
  ::kill(child, SIGINT);
  int status = 0;
  ::waitpid(child, &status, 0);

  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 130);
  CHECK(all.size() > before);
  CHECK(lines_of(read_file(out)) == all);
}

TEST_CASE("colour is there only where it is wanted", "[cli]") {
  const Home home;
  home.run({"ingest", kPlain});

  CHECK(home.run({"sessions"}).out.find('\x1b') == std::string::npos);
  CHECK(home.run({"sessions", "--color", "always"}).out.find("\x1b[1m") != std::string::npos);
  CHECK(home.run({"sessions", "--color", "always", "--json"}).out.find('\x1b') ==
        std::string::npos);
}

}  // namespace respool::test
