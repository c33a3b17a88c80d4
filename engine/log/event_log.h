#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "schema/digest.h"

#include "engine/log/event.h"
#include "engine/storage/keys.h"
#include "engine/storage/store.h"

namespace respool {

// Where an observation went.
struct Appended {
  bool duplicate = false;  // delivered before: nothing was written
  SessionNumber session;
  OriginNumber origin;
  EventNumber event;
  LogPosition position;
};

// The append-only log: streams of one session and origin, and what belongs to no session.
//
// Appends are staged in the caller's write unit, so that whatever is derived from an event is
// written with it. Call committed() after the unit was committed; after a failed commit the log
// must be opened anew.
//
// Threads:   one thread at a time.
// Ownership: borrows the store, which must outlive it.
// Errors:    those of the store.
// Units:     event numbers and positions count from 1.
class EventLog {
 public:
  static Result<EventLog> open(Store& store);

  // Stages one event, unless it was delivered before: equal shape, as_of and bytes in one stream.
  Result<Appended> append(const Observation& observation, WriteUnit& unit);
  // Stages a recording's row and gives its number.
  Result<std::uint32_t> add_recording(const fb::RecordingT& recording, WriteUnit& unit);
  // Stages the heads of the streams appended to; the last thing before the unit is committed.
  void stage_heads(WriteUnit& unit);
  void committed();

  LogPosition last_position() const { return {position_}; }

 private:
  struct Head {
    fb::StreamHeadT row;
    bool dirty = false;
  };

  explicit EventLog(Store& store) : store_(&store) {}
  const ReadView& view();
  std::string next_salt();
  Result<SessionNumber> session_number(const StreamName& name, WriteUnit& unit);
  Result<Head*> head_of(const StreamName& name, SessionNumber session);
  std::string delivery_key(const Observation& observation, const Sha256& raw_digest) const;
  Result<void> stage_event(const Observation& observation,
                           fb::EventHeaderT& header,
                           const Appended& at,
                           WriteUnit& unit);

  Store* store_;
  OriginNumber own_origin_{1};
  std::uint64_t position_ = 0;
  std::uint64_t sessions_ = 0;
  std::uint32_t recordings_ = 0;
  std::map<StreamName, SessionNumber> names_;
  std::unordered_map<std::uint64_t, Head> heads_;       // by session number, own origin
  std::unordered_set<std::string> pending_deliveries_;  // keys staged, not yet committed
  std::optional<ReadView> view_;                        // what was committed when the batch began
  std::string salts_;                                   // random bytes not used yet
};

// ---------------------------------------------------------------- reading

// Reads one event whole. NotFound where there is none; Corruption names stream and event.
Result<StoredEvent> read_event(const ReadView& view,
                               SessionNumber session,
                               OriginNumber origin,
                               EventNumber event);
Result<StoredEvent> read_event_at(const ReadView& view, LogPosition position);

// The place of the last event, 0 in an empty store.
Result<LogPosition> last_position(const ReadView& view);

// The number of a stream, nothing where the store has none of that name.
Result<std::optional<SessionNumber>> find_stream(const ReadView& view, const StreamName& name);
Result<StreamName> stream_of(const ReadView& view, SessionNumber session);
Result<std::string> origin_id(const ReadView& view, OriginNumber origin);

// Calls `visit(StoredEvent&&) -> Result<void>` for each event of a session, by origin and number.
template <class Visit>
Result<void> each_event(const ReadView& view, SessionNumber session, Visit&& visit);

// Walks the events of one session (or of all, session after session) with one iterator.
class EventCursor {
 public:
  EventCursor(const ReadView& view, std::string_view prefix);
  // The next event, nothing at the end.
  Result<std::optional<StoredEvent>> next();

 private:
  RowCursor rows_;
};

template <class Visit>
Result<void> each_event(const ReadView& view, SessionNumber session, Visit&& visit) {
  EventCursor cursor(view, keys::session_log_prefix(session));
  while (true) {
    RESPOOL_TRY(auto event, cursor.next());
    if (!event) return ok();
    RESPOOL_TRY(visit(std::move(*event)));
  }
}

}  // namespace respool
