#include "tools/continuation_log.h"

#include "ingest/source/note.h"

namespace respool {
namespace {

std::string note_of(const fb::ReplayRowT& attempt,
                    std::string_view step,
                    const std::string& session) {
  return Note("respool.replay", now_ms())
      .text("sessionID", session)
      .text("id", attempt.id)
      .text("step", step)
      .text("kind", attempt.kind)
      .text("rung", attempt.rung)
      .text("from", attempt.from_session)
      .text("to", attempt.to_session)
      .text("host", attempt.host)
      .text("directory", attempt.directory)
      .text("point", attempt.point)
      .text("replay_id", attempt.replay_id)
      .text("digest", attempt.digest)
      .text("prompt_digest", attempt.prompt_digest)
      .text("reason", attempt.reason)
      .texts("messages", attempt.messages)
      .str();
}

}  // namespace

ContinuationLog::ContinuationLog(const Context& context, const std::string& directory)
    : host_(context.host()),
      recording_(context.spool_folders(),
                 RecordingHeader{.id = new_recording_id("resume", now_ms()),
                                 .source = "resume",
                                 .host = context.host(),
                                 .run = {},
                                 .session = {},
                                 .directory = directory,
                                 .started_ms = now_ms()},
                 now_ms) {}

void ContinuationLog::step(const fb::ReplayRowT& attempt, std::string_view step) {
  recording_.line(note_of(attempt, step, attempt.from_session));
  // A session that is only planned may never come to be.
  const bool exists = step != "planned" && step != "failed";
  if (exists && !attempt.to_session.empty() && attempt.to_session != attempt.from_session)
    recording_.line(note_of(attempt, step, attempt.to_session));
  recording_.sync();
}

void ContinuationLog::gone(const std::string& session, const std::string& directory) {
  recording_.line(Note("respool.gone", now_ms())
                      .text("sessionID", session)
                      .text("host", host_)
                      .text("directory", directory)
                      .text("reason", "not_found")
                      .str());
  recording_.sync();
}

}  // namespace respool
