#include "tests/live/program.h"

#include <cerrno>
#include <charconv>
#include <csignal>
#include <stdexcept>
#include <system_error>
#include <thread>

#include <fcntl.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>

namespace respool::test {
namespace {

constexpr std::chrono::milliseconds kPoll{20};

// What a program starts with; opened before the fork, where errors can be told.
struct Descriptors {
  int in = -1;
  int out = -1;
  int err = -1;
};

[[noreturn]] void become(const Program& program, const Descriptors& files, pid_t parent) {
  const ExecWords words(program.path.string(), program.arguments, program.environment);
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(126);
  ::dup2(files.in, STDIN_FILENO);
  ::dup2(files.out, STDOUT_FILENO);
  ::dup2(files.err, STDERR_FILENO);
  if (!program.directory.empty() && ::chdir(program.directory.c_str()) != 0) ::_exit(126);
  words.become();
}

int open_checked(const fs::path& path, int flags) {
  const int file = ::open(path.c_str(), flags | O_CLOEXEC, 0600);
  if (file < 0) throw std::runtime_error("cannot open " + path.string());
  return file;
}

// Nothing where the process is gone already, or goes in the middle.
std::string proc_file(pid_t pid, const char* name) {
  std::string text;
  const int file = ::open(fmt::format("/proc/{}/{}", pid, name).c_str(), O_RDONLY | O_CLOEXEC);
  char buffer[4096];
  for (ssize_t got = 0; file >= 0 && (got = ::read(file, buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(got));
  if (file >= 0) ::close(file);
  return text;
}

std::vector<pid_t> other_processes() {
  std::vector<pid_t> found;
  std::error_code error;
  for (fs::directory_iterator entry("/proc", error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    pid_t pid = 0;
    const auto [rest, failed] = std::from_chars(name.data(), name.data() + name.size(), pid);
    const bool is_number = failed == std::errc{} && rest == name.data() + name.size();
    if (is_number && pid != ::getpid()) found.push_back(pid);
  }
  return found;
}

std::vector<pid_t> processes_where(const std::function<bool(pid_t)>& condition) {
  std::vector<pid_t> found = other_processes();
  std::erase_if(found, [&](pid_t pid) { return !condition(pid); });
  return found;
}

}  // namespace

RunningProgram::RunningProgram(const Program& program) {
  write_file(dir_.path() / "in", program.input);
  Descriptors files;
  files.in = open_checked(dir_.path() / "in", O_RDONLY);
  files.err = open_checked(dir_.path() / "err", O_WRONLY | O_CREAT);
  if (program.output == Program::Output::DeafReader) {
    int pipe[2];
    if (::pipe2(pipe, O_CLOEXEC) != 0) throw std::runtime_error("pipe2");
    deaf_pipe_ = pipe[0];
    files.out = pipe[1];
  } else {
    files.out = open_checked(dir_.path() / "out", O_WRONLY | O_CREAT);
  }
  const pid_t self = ::getpid();
  pid_ = ::fork();
  if (pid_ < 0) throw std::runtime_error("fork");
  if (pid_ == 0) become(program, files, self);
  ::setpgid(pid_, pid_);  // here too, because nobody knows who is first
  for (const int file : {files.in, files.out, files.err})
    ::close(file);
}

RunningProgram::~RunningProgram() {
  kill_group();
  if (deaf_pipe_ >= 0) ::close(deaf_pipe_);
}

void RunningProgram::kill_group() {
  if (ended_) return;
  ::kill(-pid_, SIGKILL);
  while (::waitpid(pid_, &status_, 0) < 0 && errno == EINTR) {
  }
  ended_ = true;
}

bool RunningProgram::running() {
  if (!ended_) ended_ = ::waitpid(pid_, &status_, WNOHANG) == pid_;
  return !ended_;
}

void RunningProgram::send(int signal) const {
  if (!ended_) ::kill(pid_, signal);
}

ProcessResult RunningProgram::wait(std::chrono::seconds limit) {
  if (!becomes_true(limit, [this] { return !running(); })) {
    kill_group();
    FAIL("a program did not end in " << limit.count() << " s; it said: " << err());
  }
  ProcessResult result;
  result.out = out();
  result.err = err();
  if (WIFEXITED(status_)) result.exit_code = WEXITSTATUS(status_);
  if (WIFSIGNALED(status_)) result.signal = WTERMSIG(status_);
  return result;
}

std::string RunningProgram::out() const {
  return deaf_pipe_ >= 0 ? std::string() : read_file(dir_.path() / "out");
}

std::string RunningProgram::err() const {
  return read_file(dir_.path() / "err");
}

bool becomes_true(std::chrono::seconds limit, const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(kPoll);
  }
  return true;
}

std::vector<pid_t> processes_marked(const std::string& text) {
  return processes_where([&](pid_t pid) {
    return proc_file(pid, "environ").find(text) != std::string::npos ||
           proc_file(pid, "cmdline").find(text) != std::string::npos;
  });
}

std::vector<pid_t> processes_showing(const std::string& text) {
  return processes_where(
      [&](pid_t pid) { return proc_file(pid, "cmdline").find(text) != std::string::npos; });
}

}  // namespace respool::test
