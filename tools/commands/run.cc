#include <cmath>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <system_error>

#include <poll.h>
#include <unistd.h>

#include <fmt/format.h>

#include "schema/digest.h"
#include "schema/opencode/plain_text.h"

#include "ingest/database_sync.h"
#include "ingest/opencode/config_content.h"
#include "ingest/process/run_turn.h"
#include "query/views/binding_view.h"

#include "tools/context.h"
#include "tools/echo.h"
#include "tools/output/json_writer.h"
#include "tools/run_arguments.h"

namespace respool {
namespace {

// Other captures of this machine write the store for moments only: worth waiting for.
constexpr std::chrono::milliseconds kStoreWait{10'000};

Result<std::chrono::milliseconds> seconds_flag(const Arguments& arguments,
                                               std::string_view flag,
                                               const char* variable_name,
                                               std::chrono::milliseconds otherwise) {
  if (arguments.has(flag)) {
    RESPOOL_TRY(const auto seconds, number_flag(arguments, flag, 0));
    return std::chrono::milliseconds(std::chrono::seconds(seconds));
  }
  const char* text = variable_name == nullptr ? nullptr : std::getenv(variable_name);
  if (text == nullptr || *text == '\0') return otherwise;
  char* end = nullptr;
  const double seconds = std::strtod(text, &end);
  constexpr double kMaxSeconds = 1e9;
  if (*end == '\0' && seconds >= 0 && seconds < kMaxSeconds)
    return std::chrono::milliseconds(std::llround(seconds * 1000));
  return Error(ErrorCode::InvalidArgument,
               fmt::format("{} is no number of seconds", variable_name),
               fmt::format("correct it, or pass --{}", flag));
}

Result<RunLimits> limits_of(const Arguments& arguments) {
  RunLimits limits;
  RESPOOL_TRY(limits.startup, seconds_flag(arguments, "startup-timeout", nullptr, limits.startup));
  RESPOOL_TRY(
      limits.idle,
      seconds_flag(arguments, "idle-timeout", "OPENCODE_IDLE_TIMEOUT_SECONDS", limits.idle));
  RESPOOL_TRY(
      limits.turn,
      seconds_flag(arguments, "turn-timeout", "OPENCODE_TURN_TIMEOUT_SECONDS", limits.turn));
  RESPOOL_TRY(limits.withheld, number_flag(arguments, "max-withheld", limits.withheld));
  RESPOOL_TRY(limits.compactions, number_flag(arguments, "max-compactions", limits.compactions));
  return limits;
}

// A word or two and what a pipe brings are one prompt, as OpenCode has it.
Result<std::string> read_prompt(const std::string& message) {
  std::string prompt = message;
  if (::isatty(STDIN_FILENO) == 0) {
    constexpr int kPatienceMs = 2000;
    pollfd input{STDIN_FILENO, POLLIN, 0};
    if (!message.empty() && ::poll(&input, 1, kPatienceMs) == 0)
      std::fputs(
          "respool: waiting for the end of stdin; if nothing comes from there: < /dev/null\n",
          stderr);
    std::string piped;
    char buffer[1 << 16];
    std::size_t got = 0;
    while ((got = std::fread(buffer, 1, sizeof buffer, stdin)) > 0)
      piped.append(buffer, got);
    if (!prompt.empty() && !piped.empty()) prompt.push_back('\n');
    prompt += piped;
  } else if (message.empty()) {
    return Error(ErrorCode::InvalidArgument,
                 "there is no prompt",
                 "echo 'what to do' | respool run, or give it as a word");
  }
  if (prompt.find_first_not_of(" \t\r\n") == std::string::npos)
    return Error(ErrorCode::InvalidArgument, "the prompt is empty", "say what to do");
  return prompt;
}

// What one `respool run` does, which may be two turns: where a key's session is gone, a new one.
class RunCommand {
 public:
  RunCommand(const Arguments& arguments, Context& context)
      : arguments_(&arguments),
        context_(&context),
        echo_(STDOUT_FILENO,
              [this](std::string_view line) {
                return context_->json() ? fmt::format("{}\n", line) : text_of(line);
              }),
        talk_(STDERR_FILENO, [](std::string_view line) { return fmt::format("{}\n", line); }) {}

  Result<ExitCode> run() {
    RESPOOL_TRY(prepare());
    RESPOOL_TRY(auto outcome, turn());
    const bool starts_afresh = outcome.outcome == "resume_dead" && !key_.empty();
    if (starts_afresh && !stop_requested()) {
      notice(fmt::format("session {} of key {} is gone; a new one is started", run_.session, key_));
      run_.session.clear();
      RESPOOL_TRY(outcome, turn());
    }
    take_in(outcome);
    RESPOOL_TRY(write_result(outcome));
    tell(outcome);
    talk_.finish();
    echo_.finish();
    if (stop_requested()) return ExitCode::Interrupted;
    return outcome.outcome == "completed" ? ExitCode::Done : ExitCode::No;
  }

 private:
  static std::string text_of(std::string_view line) {
    const Record record = decode_record(line);
    const auto* part = std::get_if<fb::PartRowT>(&record.body);
    const bool shown = part != nullptr && !part->synthetic &&
                       (part->type == fb::PartType::Text || part->type == fb::PartType::Reasoning);
    if (!shown) return {};
    const std::string text = decode_content(line, Shape::RunLine).text;
    return ::isatty(STDOUT_FILENO) != 0 ? plain_text(text) + "\n" : text + "\n";
  }

  Result<void> prepare() {
    RESPOOL_TRY(run_, read_run_arguments(*arguments_));
    RESPOOL_TRY(check_choice("mode", arguments_->value("mode"), "default full_access plan"));
    mode_ = *parse_permission_mode(arguments_->value("mode", "default"));
    RESPOOL_TRY(limits_, limits_of(*arguments_));
    RESPOOL_TRY(check_attachments(run_.files));
    const std::string asked = run_.directory.empty() ? context_->here() : run_.directory;
    std::error_code error;
    if (!std::filesystem::is_directory(asked, error))
      return Error(ErrorCode::InvalidArgument, fmt::format("{} is not a directory", asked));
    run_.directory = canonical_directory(asked);
    key_ = arguments_->value("key");
    if (!key_.empty() && (!run_.session.empty() || run_.continues)) {
      return Error(ErrorCode::InvalidArgument,
                   "--key says which session is continued, and so does --session or --continue",
                   "give one of them");
    }
    RESPOOL_TRY(prompt_, read_prompt(run_.message));
    environment_ = own_environment();
    RESPOOL_TRY(runtime_, opencode_runtime(environment_, context_->cache_folder()));
    git_ = git_state(run_.directory, environment_);
    watch_for_interrupts();
    return find_session();
  }

  // Which session is continued, and whether it can be here: OpenCode would run the turn in the
  // session's own directory, unseen, and print nothing.
  Result<void> find_session() {
    if (key_.empty() && run_.session.empty()) return ok();
    context_->set_default_wait(kStoreWait);
    RESPOOL_TRY(const auto store, context_->open_if_there());
    if (!store) return ok();
    const StoreReader reader(*store);
    RESPOOL_TRY(const auto bindings,
                list_bindings(reader, {}, {context_->here(), context_->host()}));
    if (!key_.empty()) {
      const auto bound = newest_of_key(bindings, key_, context_->host(), run_.directory);
      if (!bound) return ok();
      run_.session = bound->session;
      bound_directory_ = bound->row.directory;
      return ok();
    }
    for (const auto& binding : bindings) {
      if (binding.session != run_.session || binding.row.host != context_->host()) continue;
      bound_directory_ = binding.row.directory;
      if (bound_directory_ == run_.directory) return ok();
    }
    if (bound_directory_.empty()) return ok();
    return Error(
        ErrorCode::InvalidArgument,
        fmt::format(
            "session {} belongs to {}, not to {}", run_.session, bound_directory_, run_.directory),
        fmt::format("respool run --dir {} --session {}", bound_directory_, run_.session));
  }

  Result<RunTurn> describe() {
    RunTurn turn;
    turn.run = fmt::format("run_{}", to_hex(random_bytes(8)));
    turn.command.program = runtime_.path.string();
    turn.command.arguments = opencode_words(run_, runtime_.version);
    turn.command.directory = run_.directory;
    turn.command.input = prompt_;
    turn.command.file_mask = user_file_mask();
    turn.command.environment = environment_;
    // A shell's idea of where it is would move OpenCode's workspace there.
    set_variable(turn.command.environment, "PWD", std::nullopt);
    set_variable(turn.command.environment, "OLDPWD", std::nullopt);
    set_variable(turn.command.environment, "RESPOOL_RUN", turn.run);
    RESPOOL_TRY(
        const auto config,
        with_permission_mode(variable(environment_, "OPENCODE_CONFIG_CONTENT"), mode_, run_.agent));
    if (config) set_variable(turn.command.environment, "OPENCODE_CONFIG_CONTENT", config);
    turn.shown = shown_words(run_, runtime_.version);
    turn.host = context_->host();
    turn.runtime = runtime_;
    turn.agent = run_.agent;
    turn.model = run_.model;
    turn.mode = permission_mode_name(mode_);
    turn.auto_approve = run_.auto_approve;
    turn.resumed = run_.session;
    turn.resumed_directory = bound_directory_;
    turn.key = key_;
    turn.git = git_;
    turn.limits = limits_;
    return turn;
  }

  Result<RunOutcome> turn() {
    RESPOOL_TRY(const auto turn, describe());
    std::unique_ptr<RecordingWriter> recording;
    if (context_->captures(run_.directory)) {
      RecordingHeader header{.id = new_recording_id("run", now_ms()),
                             .source = "run",
                             .host = context_->host(),
                             .run = turn.run,
                             .session = run_.fork ? "" : run_.session,
                             .directory = run_.directory,
                             .started_ms = now_ms()};
      RESPOOL_TRY(context_->refuse_network_store());
      recording = std::make_unique<RecordingWriter>(context_->spool_folders(), header, now_ms);
      if (!recording->is_on_disk())
        notice("no disk takes the recording now; it waits in memory, as far as that goes");
    }
    run_id_ = turn.run;
    const RunSinks sinks{.recording = recording.get(),
                         .on_line = [this](std::string_view line,
                                           const Record&,
                                           const RecordedLine& place) { echo_.add(line, place); },
                         .on_stderr =
                             [this](std::string_view plain) {
                               if (!context_->quiet()) talk_.talk(std::string(plain));
                             },
                         .interrupted = &stop_requested(),
                         .now_ms = now_ms};
    auto outcome = run_turn(turn, sinks);
    if (recording) {
      recording->finish();
      const auto lost = recording->lost_lines() + (recording->waiting_bytes() > 0 ? 1 : 0);
      if (lost > 0) notice("not every line could be recorded: no disk took it");
    }
    return outcome;
  }

  // The store's writers come and go; if none lets us in now, the next command takes it in.
  void take_in(const RunOutcome& outcome) {
    context_->set_default_wait(kStoreWait);
    const auto taken = [&]() -> Result<void> {
      if (list_spool(context_->spool_folders()).empty()) return ok();
      RESPOOL_TRY(const auto store, context_->open_for_writing("run"));
      RESPOOL_TRY(const auto recorder, Recorder::open(*store));
      RESPOOL_TRY(context_->drain(*store, *recorder, true));
      // What ended badly may have gone on where nobody saw it: OpenCode's database knows.
      const bool ended = outcome.outcome == "completed" || outcome.outcome == "blocked" ||
                         outcome.outcome == "retried_and_completed";
      const auto databases = opencode_databases(environment_);
      const std::string session = outcome.session.empty() ? run_.session : outcome.session;
      if (!ended && !session.empty() && !databases.empty()) {
        DatabaseSyncOptions options{.host = context_->host(), .now_ms = now_ms, .stop = nullptr};
        options.sessions = {session};
        RESPOOL_TRY(sync_database(*store, *recorder, databases.front(), options));
      }
      RESPOOL_TRY(recorder->finish());
      return store->close();
    }();
    if (!taken)
      notice(fmt::format("it is recorded and waits in the spool: {}", taken.error().message()));
  }

  Result<void> write_result(const RunOutcome& outcome) const {
    if (!arguments_->has("result")) return ok();
    JsonObject json("respool.run/1");
    json.known_text("session", outcome.session)
        .text("run", run_id_)
        .text("outcome", outcome.outcome);
    if (outcome.exit) json.number("exit", *outcome.exit);
    if (outcome.signal != 0) json.number("signal", outcome.signal);
    json.number("duration_ms", outcome.duration_ms).known_text("reason", outcome.reason);
    const std::string path = arguments_->value("result");
    if (path == "-") {
      fmt::print("{}\n", json.str());
      return ok();
    }
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file << json.str() << '\n';
    file.flush();
    if (file) return ok();
    return Error(ErrorCode::Io, fmt::format("{} cannot be written", path), "name another file");
  }

  void notice(const std::string& text) { talk_.talk(fmt::format("respool: {}", text)); }

  void tell(const RunOutcome& outcome) {
    if (context_->quiet() || (outcome.outcome == "completed" && context_->json())) return;
    notice(fmt::format("{}{}{}{}",
                       outcome.session.empty() ? "" : fmt::format("session {}: ", outcome.session),
                       outcome.outcome,
                       outcome.reason.empty() ? "" : ": ",
                       outcome.reason));
  }

  const Arguments* arguments_;
  Context* context_;
  RunArguments run_;
  RunLimits limits_;
  PermissionMode mode_ = PermissionMode::Default;
  std::string prompt_;
  std::string key_;
  std::string bound_directory_;
  std::string run_id_;
  std::vector<std::string> environment_;
  OpenCodeRuntime runtime_;
  std::optional<GitState> git_;
  Echo echo_;
  Echo talk_;
};

}  // namespace

Result<ExitCode> run_run(const Arguments& arguments, Context& context) {
  return RunCommand(arguments, context).run();
}

}  // namespace respool
