#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/spool/recording_writer.h"

#include "ingest/opencode/runtime.h"
#include "ingest/process/child_process.h"
#include "ingest/process/run_evidence.h"

namespace respool {

// When a run is ended, whichever comes first. Zero: never.
struct RunLimits {
  std::chrono::milliseconds startup{120'000};  // until the first byte
  std::chrono::milliseconds idle{600'000};     // between two bytes
  std::chrono::milliseconds turn{0};           // altogether
  std::uint64_t withheld = 10;                 // calls of withheld tools in a row
  std::uint64_t compactions = 5;
};

// One turn of OpenCode: what is started, and what its record says about it.
struct RunTurn {
  ChildCommand command;            // the arguments as OpenCode gets them; the prompt is its input
  std::vector<std::string> shown;  // the same for the record: no file, title or password
  std::string run;                 // its id
  std::string host;
  OpenCodeRuntime runtime;
  std::string agent;
  std::string model;
  std::string mode;
  bool auto_approve = false;
  std::string resumed;            // the session it continues, "" for a new one
  std::string resumed_directory;  // that session's own directory, where it is known
  std::string key;
  std::optional<GitState> git;
  RunLimits limits;
};

struct RunOutcome {
  std::string session;
  std::string outcome;
  std::string reason;
  std::optional<int> exit;
  int signal = 0;
  std::int64_t duration_ms = 0;
  std::string stderr_tail;  // its last three lines, at most 500 bytes, nothing a terminal obeys
};

struct RunSinks {
  RecordingWriter* recording = nullptr;  // null: nothing is recorded
  // Each line of the program's output, where it was recorded. Must not wait for anybody.
  std::function<void(std::string_view line, const Record& record, const RecordedLine& place)>
      on_line;
  std::function<void(std::string_view plain)> on_stderr;  // safe for a terminal
  const std::atomic<bool>* interrupted = nullptr;
  std::function<std::int64_t()> now_ms;
};

// Runs the turn and records it: a note of how it began and its prompt, each line of output as it
// comes, each line of standard error, and a note of how it ended. The program's pipes are always
// drained, whatever becomes of the output.
//
// Errors: those of run_guarded(); the recording then says that it could not be started.
Result<RunOutcome> run_turn(const RunTurn& turn, const RunSinks& sinks);

}  // namespace respool
