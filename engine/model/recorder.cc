#include "engine/model/recorder.h"

#include "engine/facts/fold.h"
#include "engine/storage/keys.h"

namespace respool {
namespace {

// A batch is written when it has this many events or bytes.
constexpr std::size_t kBatchEvents = 512;
constexpr std::uint64_t kBatchBytes = 8ULL << 20;

EventContext context_of(const Observation& observation, const Appended& at) {
  return EventContext{
      .ref = fb::EventRef(at.event.value, static_cast<std::uint32_t>(at.origin.value)),
      .shape = observation.shape,
      .wire_type = observation.wire_type,
      .time_ms = observation.time_ms,
      .as_of_ms = observation.as_of_ms,
      .host = observation.host,
      .run = observation.run,
      .raw_bytes = observation.raw.size(),
      .raw = observation.raw,
      .recording = observation.recording,
      .place = observation.place};
}

EventContext context_of(const ReceivedEvent& received, const Appended& at) {
  const auto& header = received.header;
  return EventContext{
      .ref = fb::EventRef(at.event.value, static_cast<std::uint32_t>(at.origin.value)),
      .shape = static_cast<Shape>(header.shape),
      .wire_type = header.wire_type,
      .time_ms = header.time_ms,
      .as_of_ms = header.as_of_ms,
      .host = header.host,
      .run = header.run,
      .raw_bytes = header.raw_bytes,
      .raw = received.raw,
      .recording = received.recording,
      .place = received.place};
}

// By time: an event counts from its own time on. A state shows many moments at once, so each
// message and part of it counts from its own.
bool counts_at(const StoredEvent& event, const FoldUntil& until) {
  if (until.position && event.position() > *until.position) return false;
  if (until.origin && event.origin != *until.origin) return false;
  if (!until.time_ms || !event.header.time_ms) return true;
  return *event.header.time_ms <= *until.time_ms;
}

}  // namespace

Recorder::Recorder(Store& store, EventLog log, const std::vector<std::uint64_t>& unsettled)
    : store_(&store),
      log_(std::move(log)),
      model_(store, Family::Model, unsettled),
      unit_(store),
      settled_(unsettled.empty()) {}

Result<std::unique_ptr<Recorder>> Recorder::open(Store& store) {
  RESPOOL_TRY(auto log, EventLog::open(store));
  RESPOOL_TRY(const auto checkpoint, read_checkpoint(store.view()));
  const bool behind = checkpoint.position != log.last_position().value;
  if (log.last_position().value != 0 && (behind || checkpoint.fold_version != kFoldVersion)) {
    RESPOOL_TRY(rebuild_model(store));
    return std::unique_ptr<Recorder>(new Recorder(store, std::move(log), {}));
  }
  return std::unique_ptr<Recorder>(new Recorder(store, std::move(log), checkpoint.unsettled));
}

Result<Appended> Recorder::record(const Observation& observation, const Record& decoded) {
  RESPOOL_TRY(const auto at, log_.append(observation, unit_));
  if (at.duplicate) return at;
  RESPOOL_TRY(take_in(at, observation.stream, context_of(observation, at), decoded));
  return at;
}

Result<Appended> Recorder::receive(const ReceivedEvent& received) {
  RESPOOL_TRY(const auto at, log_.receive(received, unit_));
  const bool has_session = received.stream.kind == StreamKind::Session;
  const Record decoded = decode_record(received.raw,
                                       static_cast<Shape>(received.header.shape),
                                       has_session ? received.stream.text : "");
  RESPOOL_TRY(take_in(at, received.stream, context_of(received, at), decoded));
  return at;
}

// Folds what was staged, and writes the batch where it is full.
Result<void> Recorder::take_in(const Appended& at,
                               const StreamName& stream,
                               const EventContext& context,
                               const Record& decoded) {
  RESPOOL_TRY(SessionFacts* const facts, model_.session(at.session, stream));
  fold(*facts, context, decoded);
  if (++pending_ < kBatchEvents && unit_.bytes() < kBatchBytes) return ok();
  return write_batch(false);
}

Result<std::uint32_t> Recorder::add_recording(const fb::RecordingT& recording) {
  return log_.add_recording(recording, unit_);
}

Result<void> Recorder::commit() {
  return write_batch(true);
}

Result<void> Recorder::write_batch(bool settle) {
  if (pending_ != 0 || (settle && !settled_)) {
    RESPOOL_TRY(model_.stage(log_.last_position(), settle, unit_));
    settled_ = settle;
  }
  log_.stage_heads(unit_);
  for (const auto& [key, value] : cursors_) {
    if (value) {
      unit_.put(Family::Index, key, *value);
    } else {
      unit_.erase(Family::Index, key);
    }
  }
  if (!unit_.empty()) {
    RESPOOL_TRY(store_->commit(unit_, Durability::Buffered));
  }
  cursors_.clear();
  log_.committed();
  model_.committed();
  pending_ = 0;
  return ok();
}

Result<void> Recorder::finish() {
  RESPOOL_TRY(commit());
  return store_->sync();
}

Result<fb::CheckpointT> read_checkpoint(const ReadView& view) {
  RESPOOL_TRY(const auto row, view.get(Family::Model, keys::checkpoint()));
  if (!row) return fb::CheckpointT{};
  return decode<fb::CheckpointT>(*row, "the model's checkpoint");
}

Result<void> rebuild_model(Store& store) {
  RESPOOL_TRY(store.start_next_model());
  const ReadView view = store.view();
  RESPOOL_TRY(const auto last, last_position(view));
  ModelWriter model(store, Family::NextModel);
  WriteUnit unit(store);
  std::size_t pending = 0;
  const auto write = [&](LogPosition position, bool settle) -> Result<void> {
    RESPOOL_TRY(model.stage(position, settle, unit));
    RESPOOL_TRY(store.commit(unit, Durability::Buffered));
    model.committed();
    pending = 0;
    return ok();
  };
  EventCursor events(view, "");
  std::optional<StreamName> name;
  SessionNumber current;
  while (true) {
    RESPOOL_TRY(auto event, events.next());
    if (!event) break;
    if (!name || event->session != current) {
      current = event->session;
      RESPOOL_TRY(name, stream_of(view, current));
    }
    RESPOOL_TRY(SessionFacts* const facts, model.session(current, *name));
    fold(*facts, *event);
    if (++pending >= kBatchEvents) {
      RESPOOL_TRY(write({0}, false));  // an unfinished rebuild must not look finished
    }
  }
  RESPOOL_TRY(write(last, true));
  RESPOOL_TRY(store.sync());
  return store.promote_next_model();
}

Result<SessionFacts> fold_session(const ReadView& view,
                                  SessionNumber number,
                                  const FoldUntil& until) {
  SessionFacts facts;
  facts.number = number;
  RESPOOL_TRY(facts.name, stream_of(view, number));
  RESPOOL_TRY(each_event(view, number, [&](StoredEvent&& event) -> Result<void> {
    if (counts_at(event, until)) fold(facts, event);
    return ok();
  }));
  return facts;
}

}  // namespace respool
