#include "tests/support/background.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <thread>

#include <fcntl.h>
#include <unistd.h>

#include <sys/wait.h>

#include "tests/support/process.h"

namespace respool::test {

Background::Background(const std::vector<std::string>& arguments,
                       const std::map<std::string, std::string>& environment,
                       const std::string& input,
                       const std::string& directory,
                       Streams streams) {
  write_file(dir_.path() / "in", input);
  write_file(dir_.path() / "out", "");
  write_file(dir_.path() / "err", "");
  const ExecWords program(RESPOOL_BINARY, arguments, environment);
  const auto in = dir_.path() / "in";
  const auto out = dir_.path() / "out";
  const auto err = dir_.path() / "err";
  pid_ = ::fork();
  if (pid_ < 0) throw std::runtime_error("fork");
  if (pid_ != 0) return;
  ::dup2(::open(in.c_str(), O_RDONLY), STDIN_FILENO);
  ::dup2(streams.out >= 0 ? streams.out : ::open(out.c_str(), O_WRONLY | O_APPEND), STDOUT_FILENO);
  ::dup2(streams.err >= 0 ? streams.err : ::open(err.c_str(), O_WRONLY | O_APPEND), STDERR_FILENO);
  constexpr int kLast = 1024;
  for (int file = STDERR_FILENO + 1; file < kLast; ++file)
    ::close(file);
  if (::chdir(directory.c_str()) != 0) ::_exit(126);
  program.become();
}

Background::~Background() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

void Background::signal(int number) const {
  if (pid_ > 0) ::kill(pid_, number);
}

int Background::wait() {
  int status = 0;
  if (::waitpid(pid_, &status, 0) != pid_) throw std::runtime_error("waitpid");
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

bool eventually(const std::function<bool()>& is_so) {
  constexpr std::chrono::minutes kPatience{1};
  constexpr std::chrono::milliseconds kPause{10};
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (!is_so()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(kPause);
  }
  return true;
}

std::string unique_marker() {
  static std::atomic<unsigned> count{0};
  return "respool-marker-" + std::to_string(::getpid()) + "-" + std::to_string(++count);
}

std::size_t processes_with(const std::string& marker) {
  std::size_t found = 0;
  std::error_code error;
  for (fs::directory_iterator entry("/proc", error), end; !error && entry != end;
       entry.increment(error)) {
    std::ifstream file(entry->path() / "cmdline", std::ios::binary);
    const std::string line{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    if (line.find(marker) != std::string::npos) ++found;
  }
  return found;
}

}  // namespace respool::test
