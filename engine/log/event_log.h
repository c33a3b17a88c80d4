#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
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

// The append-only log: streams of one session and origin, and what belongs to no session. This
// store appends to the streams of its own origin; those of others it receives, event by event as
// their origin appended them.
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
  // Stages an event of any origin as the next one of its stream. It is never a duplicate: streams
  // are received whole. From then on an equal delivery is one. Corruption, and nothing staged,
  // where the event's chain does not follow from the stream's last event.
  Result<Appended> receive(const ReceivedEvent& received, WriteUnit& unit);
  // Stages a recording's row and gives its number.
  Result<std::uint32_t> add_recording(const fb::RecordingT& recording, WriteUnit& unit);
  // Stages the heads of the streams appended to; the last thing before the unit is committed.
  void stage_heads(WriteUnit& unit);
  void committed();

  LogPosition last_position() const { return {position_}; }

 private:
  using StreamNumbers = std::pair<SessionNumber, OriginNumber>;
  struct Head {
    fb::StreamHeadT row;
    bool dirty = false;
  };

  explicit EventLog(Store& store) : store_(&store) {}
  const ReadView& view();
  std::string next_salt();
  Result<SessionNumber> session_number(const StreamName& name, WriteUnit& unit);
  Result<Head> load_head(const StreamName& name,
                         std::optional<SessionNumber> session,
                         std::optional<OriginNumber> origin,
                         std::string_view origin_id);
  Result<Head*> head_of(const StreamName& name,
                        SessionNumber session,
                        OriginNumber origin,
                        std::string_view origin_id);
  Result<std::optional<OriginNumber>> known_origin(std::string_view id);
  Result<OriginNumber> origin_number(const Origin& origin, WriteUnit& unit);
  std::string delivery_key(const fb::EventHeaderT& header, const Sha256& raw_digest) const;
  // Links the header into its stream and stages the event's rows.
  Result<Appended> stage_next(Head& head,
                              Appended at,
                              fb::EventHeaderT& header,
                              std::string_view raw,
                              WriteUnit& unit);
  Result<void> stage_event(std::string_view raw,
                           fb::EventHeaderT& header,
                           const Appended& at,
                           WriteUnit& unit);

  Store* store_;
  OriginNumber own_origin_{1};
  std::uint64_t position_ = 0;
  std::uint64_t sessions_ = 0;
  std::uint32_t recordings_ = 0;
  std::uint64_t origins_ = 1;
  std::map<StreamName, SessionNumber> names_;
  std::map<std::string, OriginNumber, std::less<>> origin_numbers_;
  std::map<StreamNumbers, Head> heads_;
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
// The host of the store of that origin, for people; "" where nobody said.
Result<std::string> origin_host(const ReadView& view, OriginNumber origin);
// The number of an origin by its id, nothing where the store holds no stream of it.
Result<std::optional<OriginNumber>> find_origin(const ReadView& view, std::string_view id);

// How far a store holds a stream.
struct HeldStream {
  SessionNumber session;
  OriginNumber origin;
  std::uint64_t events = 0;
  std::string chain;  // after the last event, 32 bytes
};
// Of a stream the store has nothing of: no events, the chain's start, numbers 0.
Result<HeldStream> find_held(const ReadView& view,
                             const StreamName& name,
                             std::string_view origin_id);

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
