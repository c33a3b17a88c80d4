#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "schema/codec.h"
#include "schema/digest.h"
#include "schema/opencode/id_time.h"
#include "schema/opencode/record.h"

#include "engine/facts/fold.h"
#include "engine/facts/session_facts.h"

// Internal to the fold: joining one observation into the fact of its identity. A fact is the
// greatest of its observations by (fidelity, rank, as_of, digest), all of it content, so that any
// order and any repetition ends in the same fact.
namespace respool::fold_detail {

inline std::uint8_t rank_of(const fb::PartRowT& part) {
  switch (part.type) {
    case fb::PartType::Tool:
      if (part.status == fb::ToolStatus::Completed || part.status == fb::ToolStatus::Error)
        return 2;
      return part.status == fb::ToolStatus::Running ? 1 : 0;
    case fb::PartType::Text:
    case fb::PartType::Reasoning:
      return part.end_ms ? 1 : 0;
    default:
      return 0;
  }
}

inline std::uint8_t rank_of(const fb::MessageRowT& message) {
  if (message.role != "assistant") return 0;
  const bool ended = !message.finish.empty() || !message.error_name.empty();
  return static_cast<std::uint8_t>((ended ? 1 : 0) + (message.completed_ms ? 1 : 0));
}

inline std::uint8_t rank_of(const fb::SessionRowT&) {
  return 0;
}

// The moment an observation speaks of. Event ids are finer than milliseconds.
struct AsOf {
  std::int64_t ms = 0;
  std::uint16_t counter = 0;
};

inline AsOf as_of(const EventContext& event, const Record& record) {
  if (event.as_of_ms) return {*event.as_of_ms, 0};
  const auto id = id_time(record.event_id);
  if (id && event.time_ms) return {resolve_id_time(*id, *event.time_ms), id->counter()};
  return {event.time_ms.value_or(0), 0};
}

// The 48 bits of the event that removed something.
inline std::uint64_t removal_bits(const EventContext& event, const Record& record) {
  if (const auto id = id_time(record.event_id)) return id->bits;
  return id_bits_at(event.time_ms.value_or(0), 0);
}

inline auto comparable(const fb::JoinKey& key) {
  return std::tuple(key.fidelity(), key.rank(), key.as_of_ms(), key.as_of_counter());
}

template <class Row>
fb::JoinKey key_of(const Row& row, const EventContext& event, const Record& record) {
  const AsOf moment = as_of(event, record);
  const std::uint64_t digest = content_hash(encode(row));
  return fb::JoinKey(moment.ms, digest, moment.counter, rank_of(row), record.sanitized ? 0 : 1);
}

inline void add_origin(std::vector<std::uint32_t>& origins, std::uint32_t origin) {
  const auto at = std::lower_bound(origins.begin(), origins.end(), origin);
  if (at == origins.end() || *at != origin) origins.insert(at, origin);
}

inline std::uint32_t source_bit(Shape shape) {
  return 1U << static_cast<unsigned>(shape);
}

// Carries what is joined by itself from the losing row to the winning one.
inline void keep_registers(const fb::MessageRowT&, fb::MessageRowT&) {}
inline void keep_registers(const fb::PartRowT& old, fb::PartRowT& winner) {
  if (old.line_ms && (!winner.line_ms || *old.line_ms < *winner.line_ms))
    winner.line_ms = old.line_ms;
}
inline void keep_registers(const fb::SessionRowT& old, fb::SessionRowT& winner) {
  winner.idle_ms = old.idle_ms;
  winner.retry_ms = old.retry_ms;
  winner.compacted_ms = old.compacted_ms;
  winner.first_ms = old.first_ms;
  winner.last_ms = old.last_ms;
  winner.host = old.host;
  winner.host_at_ms = old.host_at_ms;
  winner.todo_key = old.todo_key;
  winner.todo_ref = old.todo_ref;
  winner.todos = old.todos;
  winner.todos_done = old.todos_done;
  winner.gone_ms = old.gone_ms;
  winner.bound_ms = old.bound_ms;
}

inline bool earlier(const fb::EventRef& a, const fb::EventRef& b) {
  return std::tuple(a.origin(), a.event()) < std::tuple(b.origin(), b.event());
}

// Adds what an observation says by merely being there. True where that is new.
template <class Row>
bool add_witness(Row& fact, const EventContext& event) {
  const std::uint32_t sources = fact.sources;
  const std::size_t origins = fact.origins.size();
  fact.sources |= source_bit(event.shape);
  add_origin(fact.origins, event.ref.origin());
  return fact.sources != sources || fact.origins.size() != origins;
}

// Replaces the content of a fact and keeps what is joined by itself.
template <class Row>
void replace(Row& fact, Row&& incoming, const EventContext& event) {
  incoming.ref = event.ref;
  incoming.removed_at = fact.removed_at;
  incoming.sources = fact.sources;
  incoming.origins = std::move(fact.origins);
  keep_registers(fact, incoming);
  fact = std::move(incoming);
  add_witness(fact, event);
}

// Joins an observation into its fact. `incoming` carries content only; true where the fact changed.
template <class Row>
bool join(Row& fact, Row incoming, const EventContext& event, const Record& record) {
  incoming.key = key_of(incoming, event, record);
  if (!is_live(fact) || comparable(incoming.key) > comparable(fact.key)) {
    replace(fact, std::move(incoming), event);
    return true;
  }
  if (comparable(incoming.key) < comparable(fact.key)) return add_witness(fact, event);
  if (incoming.key.digest() == fact.key.digest()) {
    const bool moves = earlier(event.ref, fact.ref);
    if (moves) fact.ref = event.ref;
    return add_witness(fact, event) || moves;
  }
  // The same moment, two contents: with event ids that is a contradiction, and it is remembered.
  const bool from_event_id = id_time(record.event_id).has_value() && !event.as_of_ms;
  const bool conflict = fact.conflict || from_event_id;
  if (incoming.key.digest() > fact.key.digest()) {
    replace(fact, std::move(incoming), event);
  } else {
    add_witness(fact, event);
  }
  fact.conflict = conflict;
  return true;
}

template <class Row>
bool join_removal(Row& fact, std::uint64_t bits) {
  if (fact.removed_at != 0 && id_time_difference(bits, fact.removed_at) <= 0) return false;
  fact.removed_at = bits;
  return true;
}

inline void touch(SessionFacts& facts, FactKind kind, std::string identity) {
  facts.dirty.emplace(kind, std::move(identity));
}

template <class Optional>
bool keep_latest(Optional& kept, std::optional<std::int64_t> time) {
  if (!time || (kept && *kept >= *time)) return false;
  kept = *time;
  return true;
}

template <class Optional>
bool keep_earliest(Optional& kept, std::optional<std::int64_t> time) {
  if (!time || (kept && *kept <= *time)) return false;
  kept = *time;
  return true;
}

}  // namespace respool::fold_detail
