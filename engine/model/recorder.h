#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "schema/opencode/record.h"

#include "engine/facts/fold.h"
#include "engine/log/event_log.h"
#include "engine/model/model_writer.h"

namespace respool {

// The one way into a store: appends observations to the log and folds them into the model, in one
// write per batch, so that the model is never ahead of the log nor behind it.
//
// Threads:   one thread at a time.
// Ownership: borrows the store, opened for writing.
// Errors:    those of the store; after a failed commit the recorder must be made anew.
class Recorder {
 public:
  // Brings the model up to this build's fold first, where an older one wrote it.
  static Result<std::unique_ptr<Recorder>> open(Store& store);

  // Takes one observation in. It is written with its batch, at the latest by commit().
  Result<Appended> record(const Observation& observation, const Record& decoded);
  // Takes in an event of any origin as the next one of its stream, whether or not an equal one was
  // delivered here.
  Result<Appended> receive(const ReceivedEvent& received);
  Result<std::uint32_t> add_recording(const fb::RecordingT& recording);

  const Store& store() const { return *store_; }

  // Writes a row of the index together with the batch: how far a source was read. Call it after the
  // records it speaks of, so that a cursor is never ahead of them.
  void set_cursor(std::string key, std::string value) {
    cursors_.insert_or_assign(std::move(key), std::move(value));
  }
  void erase_cursor(std::string key) { cursors_.insert_or_assign(std::move(key), std::nullopt); }

  // Writes the batch and settles every count.
  Result<void> commit();
  // Writes the batch and makes everything survive a power cut.
  Result<void> finish();

 private:
  Recorder(Store& store, EventLog log, const std::vector<std::uint64_t>& unsettled);
  Result<void> take_in(const Appended& at,
                       const StreamName& stream,
                       const EventContext& context,
                       const Record& decoded);
  Result<void> write_batch(bool settle);

  Store* store_;
  EventLog log_;
  ModelWriter model_;
  WriteUnit unit_;
  std::map<std::string, std::optional<std::string>> cursors_;  // rows that wait; nothing: erased
  std::size_t pending_ = 0;
  bool settled_ = true;  // no session's counts wait
};

// Folds the whole log into the next generation of the model and makes it the live one.
Result<void> rebuild_model(Store& store);

// The live model's checkpoint. Readers say so where its fold is not this build's.
Result<fb::CheckpointT> read_checkpoint(const ReadView& view);

// Which events of a session a fold in memory takes.
struct FoldUntil {
  std::optional<LogPosition> position;  // what the store had recorded by then
  std::optional<std::int64_t> time_ms;  // what the session was then, by the events' own times
  std::optional<OriginNumber> origin;   // only what this store recorded
};

// Folds one session's events in memory, the same fold as the model's.
Result<SessionFacts> fold_session(const ReadView& view,
                                  SessionNumber number,
                                  const FoldUntil& until = {});

}  // namespace respool
