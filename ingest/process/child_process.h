#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schema/error.h"

namespace respool {

struct ChildCommand {
  std::string program;  // a path
  std::vector<std::string> arguments;
  std::string directory;                   // it works here, "" for where we are
  std::vector<std::string> environment;    // "NAME=value", all of it
  std::string input;                       // its standard input, which is closed after
  std::optional<unsigned> file_mask = {};  // instead of ours
};

// How the program ended, by itself or by us.
struct ChildEnd {
  std::optional<int> exit;  // nothing where a signal ended it
  int signal = 0;
  bool stopped = false;  // keep_going said no
};

struct ChildEvents {
  std::function<void(std::string_view)> on_stdout;  // as it comes; must not wait for anybody
  std::function<void(std::string_view)> on_stderr;
  std::function<bool()> keep_going;  // asked some twenty times a second; false ends the program
};

// Runs a program and waits for it, below a guard: a process of ours that adopts everything the
// program starts, also what moved to a session of its own, and kills all of it when the program
// ends, when keep_going says no, and when this process dies, by SIGKILL too. Nothing outlives it.
//
// Threads:   the callbacks run in the calling thread.
// Ownership: no descriptor of ours reaches the program but its three.
// Errors:    NotFound where the program cannot be started; Io where no process can be made.
Result<ChildEnd> run_guarded(const ChildCommand& command, const ChildEvents& events);

// What a small helper program prints, at most `limit` bytes; nothing where it fails or takes
// longer.
std::optional<std::string> output_of(const ChildCommand& command,
                                     std::uint64_t timeout_ms,
                                     std::size_t limit = 1 << 20);

// The environment of this process.
std::vector<std::string> own_environment();
// Its value in a list of "NAME=value", "" where it is not there.
std::string variable(const std::vector<std::string>& environment, std::string_view name);
// Sets or, with no value, removes a variable.
void set_variable(std::vector<std::string>& environment,
                  std::string_view name,
                  std::optional<std::string> value);

}  // namespace respool
