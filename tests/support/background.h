#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include <sys/types.h>

#include "tests/support/files.h"

namespace respool::test {

// The respool binary at work beside the test; killed, if need be, when this goes.
class Background {
 public:
  struct Streams {
    int out = -1;  // -1: a file that grows, read by out()
    int err = -1;
  };
  // `input` is on its stdin; it gets only these variables and works in `directory`.
  Background(const std::vector<std::string>& arguments,
             const std::map<std::string, std::string>& environment,
             const std::string& input,
             const std::string& directory,
             Streams streams);
  ~Background();
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  void signal(int number) const;
  // Waits until it ended: its exit code, or -1 where a signal ended it.
  int wait();
  std::string out() const { return read_file(dir_.path() / "out"); }
  std::string err() const { return read_file(dir_.path() / "err"); }

 private:
  TempDir dir_;
  pid_t pid_ = -1;
};

// Asks until it is so. False where that takes a minute.
bool eventually(const std::function<bool()>& is_so);

// A word that nothing else on this machine has on its command line.
std::string unique_marker();
// How many processes have it there.
std::size_t processes_with(const std::string& marker);

}  // namespace respool::test
