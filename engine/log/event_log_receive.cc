#include <algorithm>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "schema/digest.h"

#include "engine/integrity/hash_chain.h"
#include "engine/log/event_log.h"

// The streams of other origins.
namespace respool {
namespace {

Sha256 commitment_for(const ReceivedEvent& received) {
  const auto& erased = received.header.commitment;
  if (erased.empty()) return commitment_of(bytes_of(received.header.salt), received.raw_digest);
  Sha256 commitment{};
  if (erased.size() == commitment.size())
    std::copy(erased.begin(), erased.end(), commitment.begin());
  return commitment;
}

}  // namespace

Result<std::optional<OriginNumber>> EventLog::known_origin(std::string_view id) {
  if (const auto known = origin_numbers_.find(id); known != origin_numbers_.end())
    return std::optional(known->second);
  RESPOOL_TRY(const auto found, find_origin(view(), id));
  if (found) origin_numbers_.emplace(id, *found);
  return found;
}

Result<OriginNumber> EventLog::origin_number(const Origin& origin, WriteUnit& unit) {
  RESPOOL_TRY(const auto known, known_origin(origin.id));
  if (known) return *known;
  const OriginNumber made{++origins_};
  unit.put(Family::Index, keys::origin_name(origin.id), keys::encode_number(made.value));
  unit.put(Family::Index, keys::origin_number(made), origin.id);
  if (!origin.host.empty()) unit.put(Family::Index, keys::origin_host(made), origin.host);
  origin_numbers_.emplace(origin.id, made);
  return made;
}

Result<Appended> EventLog::receive(const ReceivedEvent& received, WriteUnit& unit) {
  // The chain decides before a number is given to anything.
  const auto named = names_.find(received.stream);
  std::optional<SessionNumber> session;
  if (named != names_.end()) {
    session = named->second;
  } else {
    RESPOOL_TRY(session, find_stream(view(), received.stream));
  }
  RESPOOL_TRY(const auto origin, known_origin(received.origin.id));
  const auto cached = session && origin ? heads_.find({*session, *origin}) : heads_.end();
  std::string before;
  if (cached != heads_.end()) {
    before = bytes_of(cached->second.row.chain);
  } else {
    RESPOOL_TRY(const auto head, load_head(received.stream, session, origin, received.origin.id));
    before = bytes_of(head.row.chain);
  }
  const Sha256 chain = chain_next(before, received.header, commitment_for(received));
  if (as_bytes(chain) != bytes_of(received.header.chain)) {
    return Error(ErrorCode::Corruption,
                 fmt::format("stream {} of origin {}: the event's chain does not follow from the "
                             "stream's last event",
                             received.stream.text,
                             received.origin.id));
  }

  Appended at;
  RESPOOL_TRY(at.session, session_number(received.stream, unit));
  RESPOOL_TRY(at.origin, origin_number(received.origin, unit));
  RESPOOL_TRY(Head* const head,
              head_of(received.stream, at.session, at.origin, received.origin.id));
  fb::EventHeaderT header = received.header;
  header.chunks = 0;
  header.recording = received.recording;
  header.place = received.place;
  RESPOOL_TRY(at, stage_next(*head, at, header, received.raw, unit));
  if (!header.commitment.empty()) return at;  // nobody can tell any more what was delivered
  const std::string key = keys::delivery(at.session, delivery_key(header, received.raw_digest));
  RESPOOL_TRY(const auto delivered, view().get(Family::Index, key));
  if (delivered || !pending_deliveries_.insert(key).second) return at;
  std::string where = keys::encode_number(at.event.value);
  if (at.origin != own_origin_) where += keys::encode_number(at.origin.value).substr(4);
  unit.put(Family::Index, key, where);
  return at;
}

}  // namespace respool
