#include "ingest/process/run_turn.h"

#include <algorithm>
#include <deque>

#include <fmt/format.h>

#include "schema/opencode/plain_text.h"

#include "ingest/source/note.h"

namespace respool {
namespace {

using Clock = std::chrono::steady_clock;

// Cuts bytes into lines as they come; what follows the last line end waits.
class LineCutter {
 public:
  template <class Sink>
  void feed(std::string_view bytes, Sink&& sink) {
    for (auto end = bytes.find('\n'); end != std::string_view::npos; end = bytes.find('\n')) {
      if (rest_.empty()) {
        sink(bytes.substr(0, end));
      } else {
        rest_ += bytes.substr(0, end);
        sink(std::string_view(rest_));
        rest_.clear();
      }
      bytes.remove_prefix(end + 1);
    }
    rest_ += bytes;
  }
  template <class Sink>
  void finish(Sink&& sink) {
    if (!rest_.empty()) sink(std::string_view(rest_));
    rest_.clear();
  }

 private:
  std::string rest_;
};

std::string git_json(const GitState& git) {
  Note note("git", 0);
  note.text("remote", git.remote)
      .text("branch", git.branch)
      .text("commit", git.commit)
      .boolean("dirty", git.dirty);
  return note.str();
}

// Names of the variables that change what OpenCode does. Their values may be secrets.
std::vector<std::string> variable_names(const std::vector<std::string>& environment) {
  std::vector<std::string> names;
  for (const auto& entry : environment) {
    if (entry.starts_with("OPENCODE_")) names.push_back(entry.substr(0, entry.find('=')));
  }
  std::sort(names.begin(), names.end());
  return names;
}

class Turn {
 public:
  Turn(const RunTurn& turn, const RunSinks& sinks)
      : turn_(&turn), sinks_(&sinks), started_at_(Clock::now()), last_byte_at_(started_at_) {}

  Result<RunOutcome> run() {
    note_start();
    const ChildEvents events{.on_stdout = [this](std::string_view bytes) { take_output(bytes); },
                             .on_stderr = [this](std::string_view bytes) { take_stderr(bytes); },
                             .keep_going = [this] { return keep_going(); }};
    const auto end = run_guarded(turn_->command, events);
    output_.finish([this](std::string_view line) { take_line(line); });
    stderr_.finish([this](std::string_view line) { take_stderr_line(line); });
    if (!end) {
      note_end({.session = {},
                .outcome = "failed",
                .reason = end.error().message(),
                .exit = std::nullopt,
                .signal = 0,
                .duration_ms = 0,
                .stderr_tail = {}});
      return end.error();
    }
    return finish(end.value());
  }

 private:
  std::int64_t now() const { return sinks_->now_ms(); }

  RecordedLine record(std::string_view line) {
    return sinks_->recording == nullptr ? RecordedLine() : sinks_->recording->line(line);
  }

  void note_start() {
    Note start("respool.run.started", now());
    start.text("run", turn_->run)
        .text("host", turn_->host)
        .text("directory", turn_->command.directory)
        .text("opencode_version", turn_->runtime.version)
        .text("opencode_path", turn_->runtime.path.string())
        .text("agent", turn_->agent)
        .text("model", turn_->model)
        .text("mode", turn_->mode)
        .boolean("auto", turn_->auto_approve)
        .text("resumed", turn_->resumed)
        .text("key", turn_->key)
        .texts("argv", turn_->shown)
        .texts("variables", variable_names(turn_->command.environment))
        .number("prompt_bytes", static_cast<std::int64_t>(turn_->command.input.size()));
    if (turn_->git) start.raw("git", git_json(*turn_->git));
    record(start.str());
    record(Note("respool.prompt", now()).text("text", turn_->command.input).str());
  }

  void take_output(std::string_view bytes) {
    last_byte_at_ = Clock::now();
    output_seen_ = true;
    output_.feed(bytes, [this](std::string_view line) { take_line(line); });
  }

  void take_line(std::string_view line) {
    const RecordedLine place = record(line);
    const Record decoded = decode_record(line);
    const bool had_session = !evidence_.session().empty();
    evidence_.line(decoded);
    if (!had_session && !evidence_.session().empty()) note_binding();
    if (sinks_->on_line) sinks_->on_line(line, decoded, place);
  }

  void note_binding() {
    const std::string& session = evidence_.session();
    // Asked only now: the first run of all makes the database.
    const auto databases = opencode_databases(turn_->command.environment);
    if (sinks_->recording != nullptr) sinks_->recording->set_session(session);
    Note note("respool.binding", now());
    note.text("sessionID", session)
        .text("host", turn_->host)
        .text("directory", turn_->command.directory)
        .text("database", databases.empty() ? "" : databases.front().string())
        .text("opencode_version", turn_->runtime.version)
        .text("key", turn_->key);
    if (turn_->git) note.raw("git", git_json(*turn_->git));
    record(note.str());
  }

  void take_stderr(std::string_view bytes) {
    stderr_.feed(bytes, [this](std::string_view line) { take_stderr_line(line); });
  }

  // json_string() in the note replaces what is not UTF-8; escapes stay as they came.
  void take_stderr_line(std::string_view line) {
    Note note("respool.run.stderr", now());
    note.text("run", turn_->run).text("text", line);
    record(note.str());
    const std::string plain = plain_text(line);
    evidence_.stderr_line(plain);
    if (!plain.empty()) tail_.push_back(plain);
    constexpr std::size_t kTailLines = 3;
    if (tail_.size() > kTailLines) tail_.pop_front();
    if (sinks_->on_stderr) sinks_->on_stderr(plain);
  }

  bool keep_going() {
    if (stop_ != StopReason::None) return false;
    stop_ = reason_to_stop();
    return stop_ == StopReason::None;
  }

  // The earliest deadline that has passed.
  StopReason reason_to_stop() const {
    const auto& limits = turn_->limits;
    if (sinks_->interrupted != nullptr && sinks_->interrupted->load())
      return StopReason::Interrupted;
    if (limits.withheld != 0 && evidence_.withheld_in_a_row() >= limits.withheld)
      return StopReason::Withheld;
    if (limits.compactions != 0 && evidence_.compactions() >= limits.compactions)
      return StopReason::Compactions;
    struct Deadline {
      StopReason reason;
      Clock::time_point at;
    };
    std::vector<Deadline> deadlines;
    if (!output_seen_ && limits.startup.count() != 0)
      deadlines.push_back({StopReason::StartupTimeout, started_at_ + limits.startup});
    if (limits.idle.count() != 0)
      deadlines.push_back({StopReason::IdleTimeout, last_byte_at_ + limits.idle});
    if (limits.turn.count() != 0)
      deadlines.push_back({StopReason::TurnTimeout, started_at_ + limits.turn});
    const auto first = std::min_element(
        deadlines.begin(), deadlines.end(), [](const Deadline& a, const Deadline& b) {
          return a.at < b.at;
        });
    const bool passed = first != deadlines.end() && Clock::now() >= first->at;
    return passed ? first->reason : StopReason::None;
  }

  std::string stderr_tail() const {
    constexpr std::size_t kTailBytes = 500;
    std::string text;
    for (const auto& line : tail_)
      text += text.empty() ? line : "\n" + line;
    if (text.size() <= kTailBytes) return text;
    std::size_t begin = text.size() - kTailBytes;
    while (begin < text.size() && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80)
      ++begin;
    return text.substr(begin);
  }

  // A turn that hangs because its session lives in another directory is the one a user cannot
  // guess: its message names both.
  std::string explained(const RunEvidence::Verdict& verdict) const {
    const bool silent = stop_ == StopReason::StartupTimeout || stop_ == StopReason::IdleTimeout;
    if (!silent || turn_->resumed.empty()) return verdict.reason;
    return fmt::format("{}; it was to continue {}, whose directory is {}, in {}",
                       verdict.reason,
                       turn_->resumed,
                       turn_->resumed_directory.empty() ? "not known" : turn_->resumed_directory,
                       turn_->command.directory);
  }

  RunOutcome finish(const ChildEnd& end) {
    RunOutcome outcome;
    const StopReason stop = end.stopped ? stop_ : StopReason::None;
    const auto verdict = evidence_.verdict(stop, end.exit, end.signal, !turn_->resumed.empty());
    outcome.session = evidence_.session();
    outcome.outcome = verdict.outcome;
    outcome.reason = explained(verdict);
    outcome.exit = end.exit;
    outcome.signal = end.signal;
    outcome.duration_ms =
        std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - started_at_).count();
    outcome.stderr_tail = stderr_tail();
    if (outcome.outcome == "resume_dead") note_dead();
    note_end(outcome);
    return outcome;
  }

  void note_dead() {
    record(Note("respool.gone", now())
               .text("sessionID", turn_->resumed)
               .text("host", turn_->host)
               .text("directory", turn_->command.directory)
               .text("reason", "not_found")
               .str());
  }

  void note_end(const RunOutcome& outcome) {
    Note note("respool.run.ended", now());
    note.text("run", turn_->run);
    if (outcome.exit) note.number("exit", *outcome.exit);
    if (outcome.signal != 0) note.text("signal", std::to_string(outcome.signal));
    note.text("outcome", outcome.outcome)
        .text("reason", outcome.reason)
        .text("stderr_tail", outcome.stderr_tail);
    record(note.str());
  }

  const RunTurn* turn_;
  const RunSinks* sinks_;
  Clock::time_point started_at_;
  Clock::time_point last_byte_at_;
  bool output_seen_ = false;
  StopReason stop_ = StopReason::None;
  RunEvidence evidence_;
  LineCutter output_;
  LineCutter stderr_;
  std::deque<std::string> tail_;
};

}  // namespace

Result<RunOutcome> run_turn(const RunTurn& turn, const RunSinks& sinks) {
  return Turn(turn, sinks).run();
}

}  // namespace respool
