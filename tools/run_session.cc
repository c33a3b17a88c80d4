#include "tools/run_session.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <system_error>

#include <poll.h>
#include <unistd.h>

#include <fmt/format.h>

#include "schema/digest.h"
#include "schema/opencode/plain_text.h"

#include "ingest/database_sync.h"

#include "tools/output/json_writer.h"

namespace respool {
namespace {

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

// What a line of the run says to the one who asked.
std::string text_of(std::string_view line) {
  const Record record = decode_record(line);
  const auto* part = std::get_if<fb::PartRowT>(&record.body);
  const bool shown = part != nullptr && !part->synthetic &&
                     (part->type == fb::PartType::Text || part->type == fb::PartType::Reasoning);
  if (!shown) return {};
  const std::string text = decode_content(line, Shape::RunLine).text;
  return ::isatty(STDOUT_FILENO) != 0 ? plain_text(text) + "\n" : text + "\n";
}

}  // namespace

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

RunSession::RunSession(const Arguments& arguments, Context& context)
    : arguments_(&arguments),
      context_(&context),
      echo_(STDOUT_FILENO,
            [this](std::string_view line) {
              return context_->json() ? fmt::format("{}\n", line) : text_of(line);
            }),
      talk_(STDERR_FILENO, [](std::string_view line) { return fmt::format("{}\n", line); }) {}

Result<void> RunSession::read_flags() {
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
  environment_ = own_environment();
  return ok();
}

Result<void> RunSession::prepare() {
  RESPOOL_TRY(runtime_, opencode_runtime(environment_, context_->cache_folder()));
  git_ = git_state(run_.directory, environment_);
  watch_for_interrupts();
  return ok();
}

Result<RunTurn> RunSession::describe(const std::string& prompt) {
  RunTurn turn;
  turn.run = fmt::format("run_{}", to_hex(random_bytes(8)));
  turn.command.program = runtime_.path.string();
  turn.command.arguments = opencode_words(run_, runtime_.version);
  turn.command.directory = run_.directory;
  turn.command.input = prompt;
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

std::unique_ptr<RecordingWriter> RunSession::open_recording(const std::string& run) {
  if (!context_->captures(run_.directory)) return nullptr;
  RecordingHeader header{.id = new_recording_id("run", now_ms()),
                         .source = "run",
                         .host = context_->host(),
                         .run = run,
                         .session = run_.fork ? "" : run_.session,
                         .directory = run_.directory,
                         .started_ms = now_ms()};
  auto recording = std::make_unique<RecordingWriter>(context_->spool_folders(), header, now_ms);
  if (!recording->is_on_disk())
    notice("no disk takes the recording now; it waits in memory, as far as that goes");
  return recording;
}

Result<RunOutcome> RunSession::turn(const std::string& prompt, const OnRecord& on_record) {
  RESPOOL_TRY(const auto turn, describe(prompt));
  RESPOOL_TRY(context_->refuse_network_store());
  const auto recording = open_recording(turn.run);
  run_id_ = turn.run;
  const RunSinks sinks{
      .recording = recording.get(),
      .on_line =
          [&](std::string_view line, const Record& record, const RecordedLine& place) {
            echo_.add(line, place);
            if (on_record) on_record(record, recording.get());
          },
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
void RunSession::take_in(const RunOutcome& outcome) {
  context_->set_default_wait(kCaptureWait);
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

Result<void> RunSession::write_result(const RunOutcome& outcome, const MoreFields& more) const {
  if (!arguments_->has("result")) return ok();
  JsonObject json("respool.run/1");
  json.known_text("session", outcome.session).text("run", run_id_).text("outcome", outcome.outcome);
  if (outcome.exit) json.number("exit", *outcome.exit);
  if (outcome.signal != 0) json.number("signal", outcome.signal);
  json.number("duration_ms", outcome.duration_ms).known_text("reason", outcome.reason);
  for (const auto& [key, value] : more)
    json.known_text(key, value);
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

void RunSession::notice(const std::string& text) {
  talk_.talk(fmt::format("respool: {}", text));
}

ExitCode RunSession::finish(const RunOutcome& outcome) {
  if (!context_->quiet() && !(outcome.outcome == "completed" && context_->json())) {
    notice(fmt::format("{}{}{}{}",
                       outcome.session.empty() ? "" : fmt::format("session {}: ", outcome.session),
                       outcome.outcome,
                       outcome.reason.empty() ? "" : ": ",
                       outcome.reason));
  }
  talk_.finish();
  echo_.finish();
  if (stop_requested()) return ExitCode::Interrupted;
  return outcome.outcome == "completed" ? ExitCode::Done : ExitCode::No;
}

}  // namespace respool
