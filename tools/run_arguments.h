#pragma once

#include <string>
#include <vector>

#include "schema/error.h"

#include "tools/command.h"

namespace respool {

// What the words of `respool run` ask for, checked.
struct RunArguments {
  std::string message;  // "" where the prompt comes from stdin
  std::string directory;
  std::string session;
  bool continues = false;
  bool fork = false;
  std::string model;
  std::string agent;
  std::string variant;
  std::string title;
  std::vector<std::string> files;
  bool thinking = false;
  bool auto_approve = false;
  std::vector<std::string> passed_on;  // words for `opencode run` that respool does not know
};

// Reads flags, message and what follows "--", where OpenCode's own words for the same things are
// known too, so that no prompt stays on a command line. InvalidArgument names the word.
Result<RunArguments> read_run_arguments(const Arguments& arguments);

// Checks the attachments: regular files, at most 16, 10 MiB each, 64 MiB together.
Result<void> check_attachments(const std::vector<std::string>& files);

// The words for OpenCode. `version` tells what its flag for approving is called.
std::vector<std::string> opencode_words(const RunArguments& run, const std::string& version);
// The same for the record: files, title and values of words we do not know are not shown.
std::vector<std::string> shown_words(const RunArguments& run, const std::string& version);

}  // namespace respool
