#include <fmt/format.h>

#include "tools/continuation.h"

// What an earlier process began and did not finish. Which step it reached decides what is left:
// planned    OpenCode may have been told, or not: its database says which;
// created    the session is there; whether it holds the context is read back;
// seeded     the same;
// verified   only the note is missing that it is bound.

namespace respool {
namespace {

// One session is forked many times, at many points: only the same fork is taken up again.
bool is_same_fork(const fb::ReplayRowT& row, const fb::ReplayRowT& like) {
  return row.prompt_digest == like.prompt_digest && row.point == like.point;
}

// The newest attempt from here that neither was bound nor failed.
const fb::ReplayRowT* unfinished(const SessionFacts& facts, const fb::ReplayRowT& like) {
  const fb::ReplayRowT* newest = nullptr;
  for (const auto& [id, row] : facts.replays) {
    const bool mine = row.from_session == like.from_session && row.kind == like.kind &&
                      row.host == like.host && row.directory == like.directory && row.planned_ms &&
                      !row.bound_ms && !row.failed_ms &&
                      (like.kind == "resume" || is_same_fork(row, like));
    if (mine && (newest == nullptr || *row.planned_ms > *newest->planned_ms)) newest = &row;
  }
  return newest;
}

// The new ids among the pairs of old and new ones.
std::vector<std::string> made_by(const fb::ReplayRowT& attempt) {
  std::vector<std::string> ids;
  for (std::size_t i = 1; i < attempt.messages.size(); i += 2)
    ids.push_back(attempt.messages[i]);
  return ids;
}

}  // namespace

Continuation::Tried Continuation::recover() {
  fb::ReplayRowT attempt = new_attempt(Rung::Native, "");
  {
    RESPOOL_TRY(const auto store, context_->open_if_there());
    const StoreReader reader(*store);
    RESPOOL_TRY(const auto facts, reader.facts(request_.target.entry.number));
    const auto* const left = unfinished(facts, attempt);
    if (left == nullptr) return std::optional<Continued>();
    attempt = *left;
  }
  const auto rung = parse_rung(attempt.rung);
  session_->notice(
      fmt::format("an earlier attempt by {} was cut off: looking at what it left", attempt.rung));
  Tried recovered = std::optional<Continued>();
  if (rung == Rung::Import) recovered = recover_import(attempt);
  if (rung == Rung::Prefix) recovered = recover_prefix(attempt);
  if (!recovered || recovered.value()) return recovered;
  attempt.reason = rung == Rung::Native
                       ? "it was cut off"
                       : "it was cut off, and OpenCode does not hold what it was to make";
  log_.step(attempt, "failed");
  return std::optional<Continued>();
}

Continuation::Tried Continuation::recover_import(fb::ReplayRowT& attempt) {
  RESPOOL_TRY(const bool whole, readback_.holds_messages(attempt.to_session, made_by(attempt), 0));
  if (!whole) return std::optional<Continued>();
  log_.step(attempt, "created");
  log_.step(attempt, "seeded");
  RESPOOL_TRY(auto continued, bind(attempt));
  return std::optional(std::move(continued));
}

Continuation::Tried Continuation::recover_prefix(fb::ReplayRowT& attempt) {
  if (attempt.to_session.empty()) {
    RESPOOL_TRY(attempt.to_session, readback_.newest_titled(replay_tag(attempt)));
  }
  if (attempt.to_session.empty()) return std::optional<Continued>();
  log_.step(attempt, "created");
  RESPOOL_TRY(const bool seeded, readback_.holds_replay(attempt.to_session, attempt.replay_id));
  if (!seeded) {
    // Where nothing was said in it yet, the text goes into it now; it is another attempt.
    const std::string into = attempt.to_session;
    RESPOOL_TRY(const bool empty, readback_.is_empty(into));
    if (!empty) return std::optional<Continued>();
    attempt.reason = "it was cut off before anything was said";
    log_.step(attempt, "failed");
    fb::ReplayRowT again = new_attempt(Rung::Prefix, attempt.reason);
    return prefix(again, into);
  }
  log_.step(attempt, "seeded");
  const bool same_prompt =
      request_.prompt && new_attempt(Rung::Prefix, "").prompt_digest == attempt.prompt_digest;
  if (same_prompt) {
    RESPOOL_TRY(const auto answer, readback_.last_answer(attempt.to_session));
    if (answer) {
      log_.step(attempt, "verified");
      log_.step(attempt, "bound");
      return std::optional(
          Continued{attempt.to_session, Rung::Prefix, attempt.reason, std::nullopt, true, *answer});
    }
  }
  RESPOOL_TRY(auto continued, bind(attempt));
  return std::optional(std::move(continued));
}

}  // namespace respool
