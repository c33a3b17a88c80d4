#include <cerrno>
#include <cstring>

#include <unistd.h>

#include <fmt/format.h>
#include <sys/stat.h>

#include "ingest/opencode/runtime.h"

#include "tools/context.h"
#include "tools/continuation.h"
#include "tools/lease.h"
#include "tools/output/json_writer.h"
#include "tools/replay_budget.h"

namespace respool {
namespace {

// Chains of sessions that each continue the one before are followed this far.
constexpr int kMaxContinuations = 64;

std::string place_json(const Place& place) {
  return JsonObject().known_text("host", place.host).known_text("directory", place.directory).str();
}

std::string decision_json(const std::string& session, const ResumeDecision& decision) {
  JsonObject json("respool.decision/1");
  json.text("session", session)
      .text("rung", rung_name(decision.rung))
      .text("reason", decision.reason);
  if (decision.stored) json.raw("stored", place_json(*decision.stored));
  json.raw("here", place_json(decision.here));
  if (decision.needs_directory) json.boolean("needs_directory", true);
  if (decision.impossible) json.boolean("impossible", true);
  return json.str();
}

// A word for a shell.
std::string quoted(const std::string& word) {
  const bool plain = !word.empty() && word.find_first_not_of(
                                          "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                          "0123456789_-./@:") == std::string::npos;
  if (plain) return word;
  std::string text = "'";
  for (const char c : word)
    text += c == '\'' ? "'\\''" : std::string(1, c);
  return text + "'";
}

class ResumeCommand {
 public:
  ResumeCommand(const Arguments& arguments, Context& context, bool fork)
      : arguments_(&arguments),
        context_(&context),
        name_(fork ? "fork" : "resume"),
        session_(arguments, context) {
    request_.fork = fork;
  }

  Result<ExitCode> run() {
    RESPOOL_TRY(read());
    RESPOOL_TRY(find());
    if (arguments_->has("dry-run")) {
      tell_decision();
      return refuses() ? ExitCode::No : ExitCode::Done;
    }
    if (refuses()) return refuse();
    RESPOOL_TRY(prepare_prompt());
    RESPOOL_TRY(const auto lease,
                take_lease(*context_, request_.fork ? "" : request_.target.entry.row.id));
    RESPOOL_TRY(prepare());
    RESPOOL_TRY(const auto continued, Continuation(*context_, session_, request_).run());
    return report(continued);
  }

 private:
  bool only_prepares() const {
    return arguments_->has("no-prompt") || arguments_->has("open") || arguments_->has("server");
  }

  Result<void> read() {
    for (const auto* word : {"session", "continue", "key"}) {
      if (arguments_->has(word))
        return Error(ErrorCode::InvalidArgument,
                     fmt::format("--{} has no meaning here: the session is named already", word));
    }
    RESPOOL_TRY(
        check_choice("rung", arguments_->value("rung", "auto"), "auto native import prefix"));
    RESPOOL_TRY(session_.read_flags());
    auto& run = session_.run_arguments();
    if (run.fork || run.continues || !run.session.empty()) {
      return Error(ErrorCode::InvalidArgument,
                   "the words after \"--\" name a session, and so does the command",
                   "leave them out");
    }
    if (arguments_->has("server")) {
      RESPOOL_TRY(request_.server, parse_server_url(arguments_->value("server")));
    }
    request_.point = arguments_->has("before") ? "before " + arguments_->value("before")
                                               : arguments_->value("at");
    request_.replay.reasoning = arguments_->has("reasoning");
    request_.children = arguments_->has("children");
    request_.mask = !arguments_->has("no-mask");
    request_.map_paths = arguments_->has("map-paths");
    return ok();
  }

  // The session, and how it goes on: from what is recorded alone.
  Result<void> find() {
    context_->set_default_wait(kCaptureWait);
    RESPOOL_TRY(const auto store, context_->open_for_reading());
    if (!store) return no_store(*context_);
    const StoreReader reader(*store);
    RESPOOL_TRY(request_.target, find_target(*arguments_, *context_, reader));
    const Place here{context_->host(), session_.run_arguments().directory};
    if (!request_.fork && !arguments_->has("rung")) {
      RESPOOL_TRY(follow(reader, here));
    }
    const auto& id = request_.target.entry.row.id;
    Filter filter;
    filter.session = id;
    const auto& point = request_.target.point;
    RESPOOL_TRY(auto bindings, list_bindings(reader, filter, {context_->here(), here.host}));
    request_.decision =
        decide_resume({.session = id,
                       .bindings = std::move(bindings),
                       .here = here,
                       .directory_given = arguments_->has("dir"),
                       .part_of_it = !point.message.empty() || point.until.position ||
                                     point.until.time_ms || point.branch,
                       .asked = parse_rung(arguments_->value("rung", "auto"))});
    return ok();
  }

  // A session that was continued in this place goes on in the one it was continued in.
  Result<void> follow(const StoreReader& reader, const Place& here) {
    for (int i = 0; i < kMaxContinuations; ++i) {
      RESPOOL_TRY(const auto next, next_of(reader, here));
      if (!next) return ok();
      RESPOOL_TRY(const auto number, reader.number_of(*next));
      if (!number) return ok();
      context_->remark(
          fmt::format("session {} goes on as {} here", request_.target.entry.row.id, *next));
      RESPOOL_TRY(request_.target.entry, reader.session(*number));
    }
    return ok();
  }

  Result<std::optional<std::string>> next_of(const StoreReader& reader, const Place& here) const {
    RESPOOL_TRY(const auto facts, reader.facts(request_.target.entry.number));
    const fb::ReplayRowT* newest = nullptr;
    for (const auto& [id, replay] : facts.replays) {
      const bool leads_on = replay.kind == "resume" && replay.bound_ms &&
                            replay.from_session == facts.session.id &&
                            replay.to_session != facts.session.id && replay.host == here.host &&
                            replay.directory == here.directory;
      if (leads_on && (newest == nullptr || *replay.bound_ms > *newest->bound_ms)) newest = &replay;
    }
    if (newest == nullptr) return std::optional<std::string>();
    return std::optional(newest->to_session);
  }

  bool refuses() const { return request_.decision.needs_directory || request_.decision.impossible; }

  void tell_decision() const {
    const auto& decision = request_.decision;
    const auto& id = request_.target.entry.row.id;
    if (context_->json()) {
      fmt::print("{}\n", decision_json(id, decision));
      return;
    }
    fmt::print("session {}\nrung {}: {}\n", id, rung_name(decision.rung), decision.reason);
    if (decision.stored)
      fmt::print("stored {} on {}\n", decision.stored->directory, decision.stored->host);
    fmt::print("here {} on {}\n", decision.here.directory, decision.here.host);
  }

  // Says no, with everything needed to say yes.
  ExitCode refuse() const {
    const auto& decision = request_.decision;
    const auto& id = request_.target.entry.row.id;
    if (decision.impossible) {
      context_->print_error(
          Error(ErrorCode::InvalidArgument,
                fmt::format("session {} cannot go on natively: {}", id, decision.reason),
                fmt::format("leave --rung out, or --rung import")));
      return ExitCode::No;
    }
    const auto& stored = *decision.stored;
    std::error_code error;
    const bool there =
        stored.host == decision.here.host && std::filesystem::is_directory(stored.directory, error);
    const std::string in_old =
        there ? fmt::format("respool {} {} --dir {}   or   ", name_, id, quoted(stored.directory))
              : "";
    context_->print_error(Error(
        ErrorCode::InvalidArgument,
        fmt::format("session {} lived in {} on the host {}, and this is {} on the host {}: where "
                    "shall it go on?",
                    id,
                    stored.directory,
                    stored.host,
                    decision.here.directory,
                    decision.here.host),
        fmt::format(
            "{}respool {} {} --dir {}", in_old, name_, id, quoted(decision.here.directory))));
    return ExitCode::No;
  }

  Result<void> prepare_prompt() {
    if (only_prepares()) return ok();
    RESPOOL_TRY(request_.prompt, read_prompt(session_.run_arguments().message));
    return ok();
  }

  Result<void> prepare() {
    if (!request_.server) {
      const auto prepared = session_.prepare();
      if (!prepared && prepared.error().code() == ErrorCode::NotFound) {
        return Error(ErrorCode::NotFound,
                     prepared.error().message(),
                     fmt::format("{}; or take the context elsewhere: respool replay {}",
                                 prepared.error().next(),
                                 request_.target.entry.row.id));
      }
      RESPOOL_TRY(prepared);
    }
    request_.model = model_for(*arguments_, session_.environment(), request_.target.entry);
    RESPOOL_TRY(const auto budget,
                replay_budget(*arguments_, session_.environment(), request_.target.entry));
    request_.replay.budget_tokens = budget.tokens;
    request_.budget_from = budget.from;
    return ok();
  }

  std::string open_command(const Continued& continued) const {
    return fmt::format(
        "cd {} && opencode -s {}", quoted(request_.decision.here.directory), continued.session);
  }

  Result<ExitCode> report(const Continued& continued) {
    if (continued.outcome) {
      RESPOOL_TRY(session_.write_result(*continued.outcome,
                                        {{"rung", std::string(rung_name(continued.rung))},
                                         {"rung_reason", continued.reason},
                                         {"from", request_.target.entry.row.id}}));
      const ExitCode code = session_.finish(*continued.outcome);
      return continued.bound ? code : ExitCode::No;
    }
    if (!continued.answer.empty()) {
      session_.notice("the prompt was asked and answered before; it is not asked again");
      fmt::print("{}\n", continued.answer);
    } else if (arguments_->has("open")) {
      return open(continued);
    } else if (context_->json()) {
      fmt::print("{}\n",
                 JsonObject("respool.resume/1")
                     .text("session", continued.session)
                     .text("from", request_.target.entry.row.id)
                     .text("rung", rung_name(continued.rung))
                     .text("reason", continued.reason)
                     .text("directory", request_.decision.here.directory)
                     .text("command", open_command(continued))
                     .str());
    } else {
      fmt::print("{}\n", open_command(continued));
    }
    session_.finish_talk();
    return ExitCode::Done;
  }

  // Becomes OpenCode's own screen.
  Result<ExitCode> open(const Continued& continued) {
    session_.finish_talk();
    std::fflush(nullptr);
    const std::string program = session_.runtime().path.string();
    const auto& directory = request_.decision.here.directory;
    if (::chdir(directory.c_str()) == 0) {
      std::string words[] = {program, "-s", continued.session};
      char* argv[] = {words[0].data(), words[1].data(), words[2].data(), nullptr};
      ::unsetenv("PWD");
      ::unsetenv("OLDPWD");
      ::umask(user_file_mask());
      ::execv(program.c_str(), argv);
    }
    return Error(ErrorCode::Io,
                 fmt::format("{} cannot be opened: {}", program, std::strerror(errno)),
                 open_command(continued));
  }

  const Arguments* arguments_;
  Context* context_;
  std::string_view name_;
  RunSession session_;
  ContinuationRequest request_;
};

}  // namespace

Result<ExitCode> run_resume(const Arguments& arguments, Context& context) {
  return ResumeCommand(arguments, context, false).run();
}

Result<ExitCode> run_fork(const Arguments& arguments, Context& context) {
  return ResumeCommand(arguments, context, true).run();
}

}  // namespace respool
