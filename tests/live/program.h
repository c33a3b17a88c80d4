#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <sys/types.h>

#include "tests/support/files.h"
#include "tests/support/process.h"

namespace respool::test {

// What to start, and how.
struct Program {
  enum class Output {
    File,        // kept, to be read at any time
    DeafReader,  // stdout is a pipe that is open and that nobody reads
  };

  fs::path path;
  std::vector<std::string> arguments = {};
  std::map<std::string, std::string> environment = {};  // these variables and no others
  std::string input = {};
  fs::path directory = {};
  Output output = Output::File;
};

// A program at work beside the test, in a process group of its own. The group is killed with the
// object, the program also where the test dies.
//
// Threads: one at a time; the thread that starts it must outlive it.
class RunningProgram {
 public:
  explicit RunningProgram(const Program& program);
  ~RunningProgram();
  RunningProgram(const RunningProgram&) = delete;
  RunningProgram& operator=(const RunningProgram&) = delete;

  pid_t pid() const { return pid_; }
  bool running();
  // To the program alone, not its group.
  void send(int signal) const;
  // Waits for its end. Where it takes longer its group is killed and the test fails.
  ProcessResult wait(std::chrono::seconds limit);
  // What it printed so far.
  std::string out() const;
  std::string err() const;

 private:
  void kill_group();

  TempDir dir_;
  pid_t pid_ = -1;
  int deaf_pipe_ = -1;
  int status_ = 0;
  bool ended_ = false;
};

// Asks again and again until `condition` holds or the time is over; says whether it held.
bool becomes_true(std::chrono::seconds limit, const std::function<bool()>& condition);

// The processes that were started with this text in their environment or on their command line.
std::vector<pid_t> processes_marked(const std::string& text);
// The same on their command line alone.
std::vector<pid_t> processes_showing(const std::string& text);

}  // namespace respool::test
