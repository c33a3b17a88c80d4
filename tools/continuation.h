#pragma once

#include <optional>
#include <string>

#include "ingest/opencode/server_address.h"
#include "query/replay/prefix.h"
#include "query/replay/resume_decision.h"

#include "tools/continuation_log.h"
#include "tools/readback.h"
#include "tools/run_session.h"
#include "tools/target.h"

namespace respool {

// The part of a replay's id that the title of its session carries, long enough to be found by.
inline std::string replay_tag(const fb::ReplayRowT& attempt) {
  constexpr std::size_t kDigits = 32;
  return attempt.replay_id.substr(0, kDigits);
}

// What shall go on, and how.
struct ContinuationRequest {
  bool fork = false;                    // into a new session, whatever the rung
  Target target;                        // the session, and up to where
  std::string point;                    // the same as the user said it, "" for all of it
  ResumeDecision decision;              // where it lived, where it goes on, the first rung
  std::optional<std::string> prompt;    // nothing: only prepare it
  std::optional<ServerAddress> server;  // put the text into a session of this running server
  ReplayOptions replay;                 // of the text prefix
  std::string model;                    // "provider/model", for answers whose model nobody saw
  std::string budget_from;              // where its budget comes from, in words
  bool mask = true;
  bool children = false;
  bool map_paths = false;
};

// A session that goes on.
struct Continued {
  std::string session;
  Rung rung = Rung::Native;
  std::string reason;
  std::optional<RunOutcome> outcome;  // of the turn, where there was one
  bool bound = false;                 // it was verified that the session holds the context
  std::string answer;                 // given to the same prompt before, which was not asked again
};

// Continues a session on the best rung that works, from the decision's rung down. Each attempt is
// planned, created, seeded, verified and bound, and each step is on disk before the next begins.
// What an earlier process began and did not finish is finished or given up first: nothing is seeded
// twice, and nothing is bound that was not read back.
//
// Threads:   one at a time.
// Ownership: borrows context and session.
// Errors:    those of the store; Io where no rung worked; Interrupted.
class Continuation {
 public:
  Continuation(Context& context, RunSession& session, ContinuationRequest request);

  Result<Continued> run();

 private:
  // Nothing where the rung failed, which was noted and said: the next one is tried.
  using Tried = Result<std::optional<Continued>>;

  Result<Continued> run_rungs();
  Tried try_rung(Rung rung, const std::string& reason);
  Tried native(fb::ReplayRowT& attempt);
  Tried import(fb::ReplayRowT& attempt);
  Tried prefix(fb::ReplayRowT& attempt, const std::string& into);
  Tried prefix_by_server(fb::ReplayRowT& attempt, const std::string& text, const std::string& into);
  Tried prefix_by_turn(fb::ReplayRowT& attempt, const std::string& text, const std::string& into);

  // What an earlier process left unfinished: goes on with it where OpenCode has it.
  Tried recover();
  Tried recover_import(fb::ReplayRowT& attempt);
  Tried recover_prefix(fb::ReplayRowT& attempt);

  fb::ReplayRowT new_attempt(Rung rung, const std::string& reason) const;
  Tried failed(fb::ReplayRowT& attempt, const std::string& why);
  // Notes that the attempt holds, and asks the prompt in its session.
  Result<Continued> bind(fb::ReplayRowT& attempt);
  Result<Continued> go_on(const fb::ReplayRowT& attempt);
  Result<std::string> render_prefix(fb::ReplayRowT& attempt);

  Context* context_;
  RunSession* session_;
  ContinuationRequest request_;
  ContinuationLog log_;
  Readback readback_;
};

}  // namespace respool
