#include "tools/continuation.h"

#include <fmt/format.h>

#include "schema/digest.h"
#include "schema/opencode/new_id.h"
#include "schema/opencode/plain_text.h"

#include "ingest/opencode/import_session.h"
#include "ingest/opencode/seed_server.h"
#include "query/export/opencode_file.h"
#include "query/replay/context.h"
#include "query/replay/mask_transcript.h"
#include "query/replay/quote.h"

#include "tools/present_files.h"

namespace respool {
namespace {

std::string sha256_hex(std::string_view text) {
  return to_hex(as_bytes(sha256(text)));
}

std::string place_in_words(const Place& place) {
  return fmt::format("{} on the host {}", place.directory, place.host);
}

// What the model is told where its own history cannot say it.
std::string closing_note(const ContinuationRequest& request) {
  const auto& decision = request.decision;
  const std::string here = place_in_words(decision.here);
  if (!decision.stored) {
    return fmt::format(
        "This conversation was restored from a record. It goes on in {}. Its earlier "
        "directory is not known: check paths before you use them.",
        here);
  }
  if (*decision.stored == decision.here) {
    return fmt::format(
        "This conversation was restored from a record, in the directory it ran in: {}. "
        "Files may have changed since.",
        here);
  }
  return fmt::format(
      "This conversation was restored from a record. It ran in {}; it goes on in {}. {} Work in "
      "{}.",
      place_in_words(*decision.stored),
      here,
      request.map_paths ? "Paths in earlier tool inputs were rewritten to the new directory."
                        : "Paths in earlier tool calls are those of the old directory.",
      decision.here.directory);
}

// The new session's title: the old one's, and what it can be found by.
std::string title_for(const std::string& asked,
                      const ContinuationRequest& request,
                      const std::string& tag) {
  std::string title = asked.empty() ? request.target.entry.row.title : asked;
  constexpr std::size_t kTitleBytes = 120;
  title = std::string(clip_front(one_line(title), kTitleBytes));
  return fmt::format("{}{}[respool {}]", title, title.empty() ? "" : " ", tag);
}

constexpr std::chrono::milliseconds kSeedLimit{60'000};

}  // namespace

Continuation::Continuation(Context& context, RunSession& session, ContinuationRequest request)
    : context_(&context),
      session_(&session),
      request_(std::move(request)),
      log_(context, request_.decision.here.directory),
      readback_(context, session.environment()) {}

Result<Continued> Continuation::run() {
  auto continued = run_rungs();
  log_.finish();
  return continued;
}

Result<Continued> Continuation::run_rungs() {
  RESPOOL_TRY(auto recovered, recover());
  if (recovered) return std::move(*recovered);
  std::string reason = request_.decision.reason;
  for (const Rung rung : {Rung::Native, Rung::Import, Rung::Prefix}) {
    if (rung < request_.decision.rung) continue;
    // A fork without a prompt has no turn that could make it.
    if (rung == Rung::Native && request_.fork && !request_.prompt) continue;
    if (request_.server && rung != Rung::Prefix) continue;
    RESPOOL_TRY(auto continued, try_rung(rung, reason));
    if (continued) return std::move(*continued);
    reason = fmt::format("{} failed", rung_name(rung));
  }
  const std::string& session = request_.target.entry.row.id;
  return Error(ErrorCode::Io,
               fmt::format("session {} could not be continued on any rung", session),
               fmt::format("respool replay {} gives its context as text", session));
}

Continuation::Tried Continuation::try_rung(Rung rung, const std::string& reason) {
  fb::ReplayRowT attempt = new_attempt(rung, reason);
  session_->notice(fmt::format(
      "session {} goes on by {}: {}", request_.target.entry.row.id, rung_name(rung), reason));
  switch (rung) {
    case Rung::Native:
      return native(attempt);
    case Rung::Import:
      return import(attempt);
    case Rung::Prefix:
      return prefix(attempt, "");
  }
  return std::optional<Continued>();
}

fb::ReplayRowT Continuation::new_attempt(Rung rung, const std::string& reason) const {
  constexpr std::size_t kIdBytes = 8;
  fb::ReplayRowT attempt;
  attempt.id = fmt::format("rpl_{}", to_hex(random_bytes(kIdBytes)));
  attempt.kind = request_.fork ? "fork" : "resume";
  attempt.rung = rung_name(rung);
  attempt.from_session = request_.target.entry.row.id;
  attempt.host = request_.decision.here.host;
  attempt.directory = request_.decision.here.directory;
  attempt.point = request_.point;
  attempt.reason = reason;
  if (request_.prompt) attempt.prompt_digest = sha256_hex(*request_.prompt);
  return attempt;
}

Continuation::Tried Continuation::failed(fb::ReplayRowT& attempt, const std::string& why) {
  attempt.reason = why;
  log_.step(attempt, "failed");
  session_->notice(fmt::format("{} did not work: {}", attempt.rung, why));
  return std::optional<Continued>();
}

// ---------------------------------------------------------------- native

Continuation::Tried Continuation::native(fb::ReplayRowT& attempt) {
  const std::string& from = attempt.from_session;
  if (!request_.fork) attempt.to_session = from;
  log_.step(attempt, "planned");
  if (!request_.prompt) {
    RESPOOL_TRY(const bool there, readback_.has_session(from));
    if (!there) {
      log_.gone(from, attempt.directory);
      return failed(attempt, "OpenCode does not have the session any more");
    }
    log_.step(attempt, "verified");
    log_.step(attempt, "bound");
    return std::optional(Continued{from, Rung::Native, attempt.reason, std::nullopt, true, {}});
  }
  auto& run = session_->run_arguments();
  run.session = from;
  run.fork = request_.fork;
  session_->set_bound_directory(attempt.directory);
  RESPOOL_TRY(const auto outcome, session_->turn(*request_.prompt));
  session_->take_in(outcome);
  run.fork = false;
  if (outcome.outcome == "resume_dead")
    return failed(attempt, "OpenCode does not have the session any more");
  const bool as_planned = !outcome.session.empty() && (outcome.session != from) == request_.fork;
  Continued continued{outcome.session, Rung::Native, attempt.reason, outcome, as_planned, {}};
  if (as_planned) {
    attempt.to_session = outcome.session;
    for (const auto* step : {"created", "seeded", "verified", "bound"})
      log_.step(attempt, step);
  }
  return std::optional(std::move(continued));
}

// ---------------------------------------------------------------- import

Continuation::Tried Continuation::import(fb::ReplayRowT& attempt) {
  // What OpenCode still has, it shall not lose: models, prompts and what ran unseen.
  if (request_.decision.stored && request_.decision.stored->host == attempt.host) {
    RESPOOL_TRY(readback_.take_in(attempt.from_session));
  }
  OpenCodeFile file;
  {
    const auto slash = std::min(request_.model.find('/'), request_.model.size());
    RESPOOL_TRY(const auto store, context_->open_if_there());
    const StoreReader reader(*store);
    RESPOOL_TRY(const auto entry, reader.session(request_.target.entry.number));
    if (request_.model.empty() && entry.totals.models.empty())
      return failed(attempt, "nobody knows which model answered, and an import must name one");
    const OpenCodeFileOptions options{
        .fresh_ids = true,
        .seed = attempt.id,
        .id_time_ms = now_ms(),
        .directory = attempt.directory,
        .zero_usage = true,
        .map_paths = request_.map_paths,
        .title = session_->run_arguments().title,
        .opencode_version = session_->runtime().version,
        .model_provider = request_.model.substr(0, slash),
        .model = request_.model.substr(std::min(slash + 1, request_.model.size())),
        .closing_note = closing_note(request_)};
    RESPOOL_TRY(
        file, opencode_file(reader, request_.target.entry.number, request_.target.point, options));
  }
  attempt.to_session = file.session;
  attempt.digest = sha256_hex(file.json);
  std::vector<std::string> made;
  for (const auto& [old_id, new_id] : file.messages) {
    attempt.messages.push_back(old_id);
    attempt.messages.push_back(new_id);
    made.push_back(new_id);
  }
  log_.step(attempt, "planned");
  const auto imported = import_session({.program = session_->runtime().path.string(),
                                        .environment = session_->environment(),
                                        .directory = attempt.directory,
                                        .content = file.json,
                                        .interrupted = &stop_requested()});
  if (!imported) {
    if (imported.error().code() == ErrorCode::Interrupted) return imported.error();
    return failed(attempt, imported.error().message());
  }
  log_.step(attempt, "created");
  log_.step(attempt, "seeded");
  RESPOOL_TRY(const bool whole,
              readback_.holds_messages(attempt.to_session, made, file.parts.size()));
  if (!whole) {
    return failed(attempt,
                  "opencode import said it was done, and its database does not hold the session");
  }
  RESPOOL_TRY(auto continued, bind(attempt));
  return std::optional(std::move(continued));
}

// ---------------------------------------------------------------- prefix

Result<std::string> Continuation::render_prefix(fb::ReplayRowT& attempt) {
  RESPOOL_TRY(const auto store, context_->open_if_there());
  const StoreReader reader(*store);
  RESPOOL_TRY(
      auto transcript,
      read_context(reader, request_.target.entry.number, request_.target.point, request_.children));
  auto options = request_.replay;
  options.new_directory = attempt.directory;
  options.new_host = attempt.host;
  options.present = look_at_files(transcript, attempt.directory);
  if (request_.mask) {
    RESPOOL_TRY(auto masker, Masker::make(context_->mask_rules()));
    mask_transcript(masker, transcript);
  }
  const Replay replay = render_replay(transcript, options);
  if (replay.shown.empty() && !transcript.items.empty()) {
    return Error(ErrorCode::InvalidArgument,
                 fmt::format("a budget of {} tokens cannot hold the newest prompt of session {}",
                             options.budget_tokens,
                             replay.session),
                 fmt::format("--budget {}", replay.least_tokens));
  }
  session_->notice(fmt::format("its context takes about {} of {} tokens ({})",
                               replay.estimated_tokens,
                               replay.budget_tokens,
                               request_.budget_from));
  attempt.replay_id = replay.replay_id;
  attempt.digest = sha256_hex(replay.text);
  // The transcript that this is a copy of ends here, whatever is said in it later.
  for (const auto& item : transcript.items) {
    if (!item.message.empty() && item.child_of.empty() && !item.removed)
      attempt.point = item.message;
  }
  return replay.text;
}

Continuation::Tried Continuation::prefix(fb::ReplayRowT& attempt, const std::string& into) {
  RESPOOL_TRY(const auto text, render_prefix(attempt));
  log_.step(attempt, "planned");
  return request_.prompt && !request_.server ? prefix_by_turn(attempt, text, into)
                                             : prefix_by_server(attempt, text, into);
}

// The seed is read back before anybody is asked anything.
Continuation::Tried Continuation::prefix_by_server(fb::ReplayRowT& attempt,
                                                   const std::string& text,
                                                   const std::string& into) {
  const Seed seed{
      .directory = attempt.directory,
      .title = title_for(session_->run_arguments().title, request_, replay_tag(attempt)),
      .text = text,
      .message = id_for("msg_", attempt.id, now_ms()),
      .part = id_for("prt_", attempt.id, now_ms()),
      .session = into};
  const auto work = [&](const OpenCodeClient& client) { return seed_session(client, seed); };
  const auto seeded =
      request_.server
          ? work(OpenCodeClient(*request_.server, Credentials::from_environment(), kSeedLimit))
          : with_server({.program = session_->runtime().path.string(),
                         .environment = session_->environment(),
                         .directory = attempt.directory,
                         .interrupted = &stop_requested()},
                        work);
  if (!seeded) {
    if (seeded.error().code() == ErrorCode::Interrupted) return seeded.error();
    return failed(attempt, seeded.error().message());
  }
  attempt.to_session = seeded.value();
  attempt.messages = {"", seed.message};
  log_.step(attempt, "created");
  log_.step(attempt, "seeded");
  RESPOOL_TRY(auto continued, bind(attempt));
  return std::optional(std::move(continued));
}

// Seeding is the turn. The title tells whoever comes after a crash which session it made.
Continuation::Tried Continuation::prefix_by_turn(fb::ReplayRowT& attempt,
                                                 const std::string& text,
                                                 const std::string& into) {
  auto& run = session_->run_arguments();
  const std::string title = run.title;
  run.session = into;
  if (into.empty()) run.title = title_for(title, request_, replay_tag(attempt));
  bool seeded = false;
  const auto outcome =
      session_->turn(text + "\n" + *request_.prompt, [&](const Record& record, RecordingWriter*) {
        if (attempt.to_session.empty() && !record.session.empty()) {
          attempt.to_session = record.session;
          log_.step(attempt, "created");
        }
        const auto* part = std::get_if<fb::PartRowT>(&record.body);
        if (!seeded && part != nullptr && part->type == fb::PartType::StepStart) {
          seeded = true;
          log_.step(attempt, "seeded");
        }
      });
  run.title = title;
  if (!outcome) return failed(attempt, outcome.error().message());
  session_->take_in(outcome.value());
  Continued continued{attempt.to_session, Rung::Prefix, attempt.reason, outcome.value(), false, {}};
  if (attempt.to_session.empty()) {
    log_.step(attempt, "failed");
    return std::optional(std::move(continued));
  }
  RESPOOL_TRY(continued.bound, readback_.holds_replay(attempt.to_session, attempt.replay_id));
  if (!continued.bound) {
    attempt.reason = "OpenCode's database does not hold the text in the session";
    log_.step(attempt, "failed");
    session_->notice(attempt.reason);
    return std::optional(std::move(continued));
  }
  log_.step(attempt, "verified");
  log_.step(attempt, "bound");
  return std::optional(std::move(continued));
}

// ---------------------------------------------------------------- binding

Result<Continued> Continuation::bind(fb::ReplayRowT& attempt) {
  log_.step(attempt, "verified");
  log_.step(attempt, "bound");
  return go_on(attempt);
}

Result<Continued> Continuation::go_on(const fb::ReplayRowT& attempt) {
  Continued continued{
      attempt.to_session, *parse_rung(attempt.rung), attempt.reason, std::nullopt, true, {}};
  if (!request_.prompt || request_.server) return continued;
  auto& run = session_->run_arguments();
  run.session = attempt.to_session;
  run.title.clear();
  session_->set_bound_directory(attempt.directory);
  RESPOOL_TRY(continued.outcome, session_->turn(*request_.prompt));
  session_->take_in(*continued.outcome);
  return continued;
}

}  // namespace respool
