#include "ingest/process/guard.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

namespace respool {
namespace {

using std::chrono::milliseconds;

// A program that is asked to end has this long before it is killed.
constexpr milliseconds kGrace{200};
// What does not die (a process that waits for a dead disk) is left after this.
constexpr milliseconds kSweepLimit{5000};

// The parent of a process. The name before it may hold anything, in parentheses.
pid_t parent_of(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string stat;
  std::getline(file, stat, '\0');
  const auto end = stat.rfind(')');
  pid_t parent = 0;
  char state = 0;
  if (end == std::string::npos) return 0;
  return std::sscanf(stat.c_str() + end + 1, " %c %d", &state, &parent) == 2 && state != 'Z'
             ? parent
             : 0;
}

// Everything below `root`. Orphans come to us because we are a subreaper.
std::vector<pid_t> descendants_of(pid_t root) {
  std::multimap<pid_t, pid_t> children;
  std::error_code error;
  for (std::filesystem::directory_iterator entry("/proc", error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    pid_t pid = 0;
    const auto [rest, failed] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (failed != std::errc{} || rest != name.data() + name.size()) continue;
    if (const pid_t parent = parent_of(pid); parent != 0) children.emplace(parent, pid);
  }
  std::vector<pid_t> found = {root};
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto [begin, end] = children.equal_range(found[i]);
    for (auto child = begin; child != end; ++child)
      found.push_back(child->second);
  }
  found.erase(found.begin());
  return found;
}

// Kills until nobody is left: what forks while it is being killed is found the next time.
void sweep() {
  const auto deadline = std::chrono::steady_clock::now() + kSweepLimit;
  while (std::chrono::steady_clock::now() < deadline) {
    const auto left = descendants_of(::getpid());
    for (const pid_t pid : left)
      ::kill(pid, SIGSTOP);
    for (const pid_t pid : left)
      ::kill(pid, SIGKILL);
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    if (left.empty()) return;
    std::this_thread::sleep_for(milliseconds(5));
  }
}

void report(const std::string& line) {
  // Nobody may be there to read it any more.
  if (::write(kReportDescriptor, line.data(), line.size()) < 0) return;
}

[[noreturn]] void become(char** argv, pid_t guard) {
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int ignored : {SIGINT, SIGTERM, SIGHUP, SIGPIPE})
    std::signal(ignored, SIG_DFL);
  ::setsid();
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != guard) ::_exit(127);  // it died before we asked to be told
  ::close(kLifelineDescriptor);
  ::fcntl(kReportDescriptor, F_SETFD, FD_CLOEXEC);
  ::execv(argv[0], argv);
  report(fmt::format("error {}\n", errno));
  ::_exit(127);
}

std::string end_text(int status) {
  return WIFSIGNALED(status) ? fmt::format("signal {}\n", WTERMSIG(status))
                             : fmt::format("exit {}\n", WEXITSTATUS(status));
}

// Waits for the program to end or for respool to say or show that it must.
class Watch {
 public:
  Watch(pid_t child, int signals) : child_(child), signals_(signals) {}

  void run() {
    while (!ended_) {
      pollfd waits[2] = {{lifeline_, POLLIN, 0}, {signals_, POLLIN, 0}};
      const int ready = ::poll(waits, 2, timeout());
      if (ready < 0 && errno != EINTR) return;
      if (waits[1].revents != 0) drain_signals();
      reap();
      if (waits[0].revents != 0) ask_to_end();
      if (asked_ && std::chrono::steady_clock::now() >= kill_at_) return;
    }
  }

 private:
  int timeout() const {
    if (!asked_) return -1;
    const auto left = kill_at_ - std::chrono::steady_clock::now();
    return static_cast<int>(
        std::max<std::int64_t>(0, std::chrono::duration_cast<milliseconds>(left).count() + 1));
  }

  void ask_to_end() {
    char byte = 0;
    const bool gone = ::read(kLifelineDescriptor, &byte, 1) <= 0;
    if (gone) lifeline_ = -1;
    if (asked_) return;
    asked_ = true;
    kill_at_ = std::chrono::steady_clock::now() + kGrace;
    ::kill(child_, SIGTERM);
  }

  void drain_signals() const {
    signalfd_siginfo info{};
    while (::read(signals_, &info, sizeof(info)) > 0) {
    }
  }

  void reap() {
    int status = 0;
    for (pid_t pid = ::waitpid(-1, &status, WNOHANG); pid > 0;
         pid = ::waitpid(-1, &status, WNOHANG)) {
      if (pid != child_) continue;
      report(end_text(status));
      ended_ = true;
    }
  }

  pid_t child_;
  int signals_;
  int lifeline_ = kLifelineDescriptor;
  bool asked_ = false;
  bool ended_ = false;
  std::chrono::steady_clock::time_point kill_at_;
};

}  // namespace

int guard_main(char** argv) {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  for (const int ignored : {SIGINT, SIGTERM, SIGHUP, SIGPIPE})
    std::signal(ignored, SIG_IGN);
  sigset_t child_signals;
  ::sigemptyset(&child_signals);
  ::sigaddset(&child_signals, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &child_signals, nullptr);
  const int signals = ::signalfd(-1, &child_signals, SFD_CLOEXEC | SFD_NONBLOCK);
  const pid_t self = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) become(argv, self);
  // The pipes belong to the program alone: their ends must show when it, not we, closes them.
  for (const int pipe : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    ::close(pipe);
  if (child < 0 || signals < 0) {
    report(fmt::format("error {}\n", errno));
    return 1;
  }
  Watch(child, signals).run();
  sweep();
  return 0;
}

}  // namespace respool
