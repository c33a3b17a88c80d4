#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schema/error.h"

#include "tools/exit_code.h"

namespace respool {

// One flag as parser, help, man page and completions show it.
struct FlagSpec {
  std::string_view name;   // without dashes
  std::string_view value;  // what it takes, "" for a switch
  std::string_view help;
  char letter = 0;    // its short form, 0 for none
  bool many = false;  // may be given more than once
};

// What a command was called with.
class Arguments {
 public:
  bool has(std::string_view name) const { return values_.contains(std::string(name)); }
  std::string value(std::string_view name, std::string_view otherwise = {}) const;
  const std::vector<std::string>& values(std::string_view name) const;
  void set(std::string_view name, std::vector<std::string> values) {
    values_[std::string(name)] = std::move(values);
  }

 private:
  std::map<std::string, std::vector<std::string>> values_;
};

class Context;

// One command. The table of them is the only place that says what there is.
struct CommandSpec {
  std::string_view group;  // Capture, Ask, Play back, Keep
  std::string_view name;
  std::string_view positional;  // "SESSION", "[SESSION]", "PATH...", ""
  std::string_view summary;
  std::vector<std::string_view> examples;
  std::vector<FlagSpec> flags;
  bool filters = false;  // takes --since, --until, --tz, --host, ... too
  Result<ExitCode> (*run)(const Arguments&, Context&) = nullptr;
  // What follows "--" is for another program and comes as Arguments::values(kPassedOn).
  bool passes_on = false;
};

inline constexpr std::string_view kPassedOn = "--";

const std::vector<CommandSpec>& all_commands();
const std::vector<FlagSpec>& global_flags();
const std::vector<FlagSpec>& filter_flags();

// Parses the command line and runs the command. Returns the exit code.
int run_command_line(int argc, char** argv);

std::string command_help(const CommandSpec& command);
std::string overview_help();
std::string man_page();
// Completions for bash, zsh or fish; nothing for another shell.
std::optional<std::string> completions(std::string_view shell);

// The commands, one file each under commands/.
Result<ExitCode> run_ingest(const Arguments&, Context&);
Result<ExitCode> run_run(const Arguments&, Context&);
Result<ExitCode> run_watch(const Arguments&, Context&);
Result<ExitCode> run_sync(const Arguments&, Context&);
Result<ExitCode> run_plugin(const Arguments&, Context&);
Result<ExitCode> run_bindings(const Arguments&, Context&);
Result<ExitCode> run_missing(const Arguments&, Context&);
Result<ExitCode> run_doctor(const Arguments&, Context&);

Result<ExitCode> run_sessions(const Arguments&, Context&);
Result<ExitCode> run_show(const Arguments&, Context&);
Result<ExitCode> run_events(const Arguments&, Context&);
Result<ExitCode> run_usage(const Arguments&, Context&);
Result<ExitCode> run_tools(const Arguments&, Context&);
Result<ExitCode> run_files(const Arguments&, Context&);
Result<ExitCode> run_permissions(const Arguments&, Context&);
Result<ExitCode> run_lineage(const Arguments&, Context&);
Result<ExitCode> run_gaps(const Arguments&, Context&);
Result<ExitCode> run_stats(const Arguments&, Context&);
Result<ExitCode> run_replay(const Arguments&, Context&);
Result<ExitCode> run_resume(const Arguments&, Context&);
Result<ExitCode> run_fork(const Arguments&, Context&);
Result<ExitCode> run_export(const Arguments&, Context&);
Result<ExitCode> run_verify(const Arguments&, Context&);
Result<ExitCode> run_rebuild(const Arguments&, Context&);
Result<ExitCode> run_bench(const Arguments&, Context&);
Result<ExitCode> run_completions(const Arguments&, Context&);
Result<ExitCode> run_man(const Arguments&, Context&);

}  // namespace respool
