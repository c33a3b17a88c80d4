#include "tools/readback.h"

#include <algorithm>

#include "ingest/database_sync.h"
#include "ingest/opencode/runtime.h"
#include "ingest/source/database_source.h"
#include "query/views/transcript.h"

#include "tools/run_session.h"

namespace respool {
namespace {

bool is_answered(const SessionFacts& facts, const std::string& message) {
  const auto found = facts.messages.find(message);
  return found != facts.messages.end() && found->second.row &&
         found->second.row->completed_ms.has_value() && found->second.row->error_name.empty();
}

}  // namespace

Result<bool> Readback::has_session(const std::string& session) const {
  for (const auto& database : opencode_databases(*environment_)) {
    RESPOOL_TRY(const auto source, DatabaseSource::open(database, context_->cache_folder()));
    RESPOOL_TRY(const auto ids, source->session_ids());
    if (std::binary_search(ids.begin(), ids.end(), session)) return true;
  }
  return false;
}

Result<std::string> Readback::newest_titled(const std::string& text) const {
  std::string newest;
  for (const auto& database : opencode_databases(*environment_)) {
    RESPOOL_TRY(const auto source, DatabaseSource::open(database, context_->cache_folder()));
    RESPOOL_TRY(const auto ids, source->sessions_titled(text));
    // A later session has the lesser id.
    if (!ids.empty() && (newest.empty() || ids.front() < newest)) newest = ids.front();
  }
  return newest;
}

Result<void> Readback::take_in(const std::string& session) const {
  context_->set_default_wait(kCaptureWait);
  RESPOOL_TRY(const auto store, context_->open_for_writing("resume"));
  RESPOOL_TRY(const auto recorder, Recorder::open(*store));
  RESPOOL_TRY(context_->drain(*store, *recorder, true));
  for (const auto& database : opencode_databases(*environment_)) {
    DatabaseSyncOptions options{.host = context_->host(), .now_ms = now_ms};
    options.sessions = {session};
    RESPOOL_TRY(sync_database(*store, *recorder, database, options));
  }
  RESPOOL_TRY(recorder->finish());
  return store->close();
}

Result<bool> Readback::holds_messages(const std::string& session,
                                      const std::vector<std::string>& messages,
                                      std::size_t parts) const {
  RESPOOL_TRY(take_in(session));
  RESPOOL_TRY(const auto store, context_->open_if_there());
  const StoreReader reader(*store);
  RESPOOL_TRY(const auto number, reader.number_of(session));
  if (!number) return false;
  RESPOOL_TRY(const auto facts, reader.facts(*number));
  std::size_t found = 0;
  for (const auto& id : messages) {
    const auto message = facts.messages.find(id);
    const bool there = message != facts.messages.end() && message->second.row &&
                       is_live(*message->second.row) && !is_removed(*message->second.row);
    if (!there) return false;
    found += message->second.parts.size();
  }
  return found >= parts;
}

Result<bool> Readback::holds_replay(const std::string& session,
                                    const std::string& replay_id) const {
  RESPOOL_TRY(take_in(session));
  RESPOOL_TRY(const auto store, context_->open_if_there());
  const StoreReader reader(*store);
  RESPOOL_TRY(const auto number, reader.number_of(session));
  if (!number) return false;
  RESPOOL_TRY(const auto transcript, read_transcript(reader, *number, {}));
  // A prompt of our own record has no message: it says what was asked for, not what is there.
  return std::any_of(transcript.items.begin(), transcript.items.end(), [&](const auto& item) {
    return item.kind == "replay" && item.replay_id == replay_id && !item.message.empty();
  });
}

Result<bool> Readback::is_empty(const std::string& session) const {
  RESPOOL_TRY(const auto store, context_->open_if_there());
  const StoreReader reader(*store);
  RESPOOL_TRY(const auto number, reader.number_of(session));
  if (!number) return true;
  RESPOOL_TRY(const auto facts, reader.facts(*number));
  return facts.messages.empty();
}

Result<std::optional<std::string>> Readback::last_answer(const std::string& session) const {
  RESPOOL_TRY(const auto store, context_->open_if_there());
  const StoreReader reader(*store);
  RESPOOL_TRY(const auto number, reader.number_of(session));
  if (!number) return std::optional<std::string>();
  RESPOOL_TRY(const auto facts, reader.facts(*number));
  RESPOOL_TRY(const auto transcript, read_transcript(reader, *number, {}));
  std::optional<std::string> answer;
  for (const auto& item : transcript.items) {
    if (item.role == "user" && !item.message.empty()) answer.reset();
    if (item.role == "assistant" && item.kind == "text" && is_answered(facts, item.message))
      answer = item.text;
  }
  return answer;
}

}  // namespace respool
