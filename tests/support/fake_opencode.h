#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/background.h"
#include "tests/support/process.h"

namespace respool::test {

// A home with a program on PATH that stands for OpenCode: a shell script that notes how it was
// started (seen()), reads its standard input to the end, and then does what the test says. No real
// OpenCode is in reach.
class FakeOpenCode {
 public:
  explicit FakeOpenCode(std::string_view version = "1.18.33");

  // Shell text; $LAB is a folder for what test and script tell each other.
  FakeOpenCode& does(std::string_view script);
  // Prints these bytes and then does what `script` says.
  FakeOpenCode& prints(std::string_view out, std::string_view script = "exit 0");

  ProcessResult respool(const std::vector<std::string>& arguments,
                        const std::string& input = "Do it.\n",
                        const std::map<std::string, std::string>& more = {}) const;
  // The same, with --result: its text goes to result().
  ProcessResult run(std::vector<std::string> arguments,
                    const std::string& input = "Do it.\n",
                    const std::map<std::string, std::string>& more = {}) const;

  // What a run's --result says.
  std::string outcome() const { return result("outcome"); }
  std::string result(std::string_view field) const;

  // "argv", "environ" (one a line), "stdin", "umask", "cwd" of the last start.
  std::string seen(const std::string& what) const { return read_file(lab() / what); }
  std::vector<std::string> seen_lines(const std::string& what) const;
  // The value it was given, nothing where there was no such variable.
  std::string seen_variable(const std::string& name) const;
  bool was_started() const { return fs::exists(lab() / "argv"); }

  std::map<std::string, std::string> environment(
      const std::map<std::string, std::string>& more = {}) const;
  fs::path home() const { return dir_.path(); }
  fs::path lab() const { return dir_.path() / "lab"; }
  fs::path work() const { return dir_.path() / "work"; }  // where respool is started
  fs::path program() const { return dir_.path() / "programs" / "opencode"; }
  fs::path store() const { return dir_.path() / ".local/share/respool"; }
  fs::path spool() const { return store() / "spool"; }

 private:
  TempDir dir_;
  std::string version_;
};

// A text field of one JSON object, "" where it has none; numbers as they are written.
std::string json_field(const std::string& object, std::string_view field);
// The events of one type in what `events --raw` printed.
std::vector<std::string> events_of(const std::string& raw_events, std::string_view type);

}  // namespace respool::test
