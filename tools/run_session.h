#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ingest/opencode/config_content.h"
#include "ingest/process/run_turn.h"

#include "tools/context.h"
#include "tools/echo.h"
#include "tools/run_arguments.h"

namespace respool {

// Other captures of this machine write the store for moments only: worth waiting for.
inline constexpr std::chrono::milliseconds kCaptureWait{10'000};

// The prompt: a word or two and what a pipe brings are one, as OpenCode has it. InvalidArgument
// where there is none.
Result<std::string> read_prompt(const std::string& message);

// Turns of OpenCode as `run`, `resume` and `fork` have them: recorded, echoed to stdout, taken into
// the store, told.
//
// Threads:   one at a time.
// Ownership: borrows arguments and context.
// Errors:    InvalidArgument for flags that cannot be; those of opencode_runtime() and run_turn().
class RunSession {
 public:
  RunSession(const Arguments& arguments, Context& context);

  // Reads the flags of a run; checks directory and attachments.
  Result<void> read_flags();
  // Finds OpenCode and the repository. Only now something is started: `opencode --version`, git.
  Result<void> prepare();

  // Where its turns go: the directory, the session (`arguments().session`), a title.
  RunArguments& run_arguments() { return run_; }
  // What a turn that hangs is explained with: the directory its session was bound to.
  void set_bound_directory(std::string directory) { bound_directory_ = std::move(directory); }
  void set_key(std::string key) { key_ = std::move(key); }

  const std::vector<std::string>& environment() const { return environment_; }
  const OpenCodeRuntime& runtime() const { return runtime_; }

  // One turn. `on_record` hears each line that was read from it and may add lines to the recording.
  using OnRecord = std::function<void(const Record&, RecordingWriter*)>;
  Result<RunOutcome> turn(const std::string& prompt, const OnRecord& on_record = {});
  // Takes what waits in the spool into the store. Where a turn ended badly, OpenCode's database
  // tells what went on where nobody saw it. If the store is busy, the next command does it.
  void take_in(const RunOutcome& outcome);
  // How the last turn ended, for the file that --result names; `more` are fields beside it.
  using MoreFields = std::vector<std::pair<std::string, std::string>>;
  Result<void> write_result(const RunOutcome& outcome, const MoreFields& more = {}) const;

  // Words for people on stderr, in the order of what else is said there.
  void notice(const std::string& text);
  // Waits until the words for people were printed.
  void finish_talk() { talk_.finish(); }
  // Tells how the turn ended, waits until all was printed, and gives the exit code.
  ExitCode finish(const RunOutcome& outcome);

 private:
  Result<RunTurn> describe(const std::string& prompt);
  std::unique_ptr<RecordingWriter> open_recording(const std::string& run);

  const Arguments* arguments_;
  Context* context_;
  RunArguments run_;
  RunLimits limits_;
  PermissionMode mode_ = PermissionMode::Default;
  std::string key_;
  std::string bound_directory_;
  std::string run_id_;
  std::vector<std::string> environment_;
  OpenCodeRuntime runtime_;
  std::optional<GitState> git_;
  Echo echo_;
  Echo talk_;
};

}  // namespace respool
