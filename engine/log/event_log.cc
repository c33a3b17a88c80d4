#include "engine/log/event_log.h"

#include <algorithm>

#include <fmt/format.h>

#include "schema/assert.h"
#include "schema/digest.h"

#include "engine/integrity/hash_chain.h"
#include "engine/log/event_row.h"

namespace respool {

using event_row::damaged;
using event_row::length_prefix;
using event_row::place_of;

namespace {

constexpr std::size_t kSaltBytes = 16;
constexpr std::size_t kDeliveryKeyBytes = 16;

void assign(std::vector<std::uint8_t>& vector, std::string_view bytes) {
  vector.assign(bytes.begin(), bytes.end());
}

Error wrong_size(const keys::EventKey& key, const StoredEvent& event) {
  return damaged(
      key,
      fmt::format(
          "{} bytes are there, {} were recorded", event.raw.size(), event.header.raw_bytes));
}

}  // namespace

// ---------------------------------------------------------------- appending

Result<EventLog> EventLog::open(Store& store) {
  EventLog log(store);
  const ReadView view = store.view();
  RESPOOL_TRY(const auto position, respool::last_position(view));
  log.position_ = position.value;
  RESPOOL_TRY(const auto last_session, view.last(Family::Index, "N"));
  if (last_session)
    log.sessions_ =
        keys::decode_number(std::string_view(last_session->first).substr(1)).value_or(0);
  RESPOOL_TRY(const auto last_recording, view.last(Family::Index, keys::recording_prefix()));
  if (last_recording) {
    const auto number = keys::decode_number(std::string(4, '\0') + last_recording->first.substr(1));
    log.recordings_ = static_cast<std::uint32_t>(number.value_or(0));
  }
  RESPOOL_TRY(const auto own, view.get(Family::Index, keys::origin_name(store.meta().origin)));
  if (own) {
    log.own_origin_ = {keys::decode_number(*own).value_or(1)};
  } else {
    WriteUnit unit(store);
    unit.put(Family::Index,
             keys::origin_name(store.meta().origin),
             keys::encode_number(log.own_origin_.value));
    unit.put(Family::Index, keys::origin_number(log.own_origin_), store.meta().origin);
    RESPOOL_TRY(store.commit(unit, Durability::Buffered));
  }
  RESPOOL_TRY(const auto last_origin, view.last(Family::Index, keys::origin_number_prefix()));
  if (last_origin)
    log.origins_ = keys::decode_number(std::string_view(last_origin->first).substr(1)).value_or(1);
  return log;
}

const ReadView& EventLog::view() {
  if (!view_) view_.emplace(store_->view());
  return *view_;
}

std::string EventLog::next_salt() {
  constexpr std::size_t kSaltsAtOnce = 256;
  if (salts_.empty()) salts_ = random_bytes(kSaltsAtOnce * kSaltBytes);
  std::string salt = salts_.substr(salts_.size() - kSaltBytes);
  salts_.resize(salts_.size() - kSaltBytes);
  return salt;
}

Result<SessionNumber> EventLog::session_number(const StreamName& name, WriteUnit& unit) {
  if (const auto known = names_.find(name); known != names_.end()) return known->second;
  RESPOOL_TRY(const auto found, find_stream(view(), name));
  if (found) return names_.emplace(name, *found).first->second;
  const SessionNumber made{++sessions_};
  unit.put(Family::Index, keys::stream_name(name), keys::encode_number(made.value));
  unit.put(Family::Index,
           keys::session_number(made),
           {std::string_view(reinterpret_cast<const char*>(&name.kind), 1), name.text});
  names_.emplace(name, made);
  return made;
}

Result<EventLog::Head*> EventLog::head_of(const StreamName& name,
                                          SessionNumber session,
                                          OriginNumber origin,
                                          std::string_view origin_id) {
  const StreamNumbers numbers(session, origin);
  const auto known = heads_.find(numbers);
  if (known != heads_.end()) return &known->second;
  RESPOOL_TRY(auto head, load_head(name, session, origin, origin_id));
  return &heads_.emplace(numbers, std::move(head)).first->second;
}

Result<EventLog::Head> EventLog::load_head(const StreamName& name,
                                           std::optional<SessionNumber> session,
                                           std::optional<OriginNumber> origin,
                                           std::string_view origin_id) {
  std::optional<std::string> stored;
  if (session && origin) {
    RESPOOL_TRY(stored, view().get(Family::Index, keys::head(*session, *origin)));
  }
  Head head;
  if (stored) {
    RESPOOL_TRY(head.row,
                decode<fb::StreamHeadT>(*stored, fmt::format("head of stream {}", session->value)));
  } else {
    assign(head.row.chain, as_bytes(chain_start(name, origin_id)));
  }
  return head;
}

std::string EventLog::delivery_key(const fb::EventHeaderT& header, const Sha256& raw_digest) const {
  std::string content(1, static_cast<char>(header.shape));
  if (header.as_of_ms) content += keys::encode_number(static_cast<std::uint64_t>(*header.as_of_ms));
  content += as_bytes(raw_digest);
  const Sha256 key = hmac_sha256(bytes_of(store_->meta().secret), content);
  return std::string(as_bytes(key).substr(0, kDeliveryKeyBytes));
}

Result<Appended> EventLog::append(const Observation& observation, WriteUnit& unit) {
  RESPOOL_TRY(const auto session, session_number(observation.stream, unit));
  const Sha256 raw_digest = sha256(observation.raw);
  fb::EventHeaderT header;
  header.shape = static_cast<std::uint8_t>(observation.shape);
  header.as_of_ms = observation.as_of_ms;
  const std::string key = keys::delivery(session, delivery_key(header, raw_digest));
  Appended at{
      .duplicate = true, .session = session, .origin = own_origin_, .event = {}, .position = {}};
  if (!pending_deliveries_.insert(key).second) return at;
  RESPOOL_TRY(const auto delivered, view().get(Family::Index, key));
  if (delivered) {
    pending_deliveries_.erase(key);
    return at;
  }

  RESPOOL_TRY(Head* const head,
              head_of(observation.stream, session, own_origin_, store_->meta().origin));
  header.wire_type = observation.wire_type;
  header.time_ms = observation.time_ms;
  header.received_ms = observation.received_ms;
  header.host = observation.host;
  header.run = observation.run;
  header.raw_bytes = observation.raw.size();
  header.recording = observation.recording;
  header.place = observation.place;
  const std::string salt = next_salt();
  assign(header.salt, salt);
  const Sha256 chain =
      chain_next(bytes_of(head->row.chain), header, commitment_of(salt, raw_digest));
  assign(header.chain, as_bytes(chain));
  RESPOOL_TRY(at, stage_next(*head, at, header, observation.raw, unit));
  unit.put(Family::Index, key, keys::encode_number(at.event.value));
  return at;
}

Result<Appended> EventLog::stage_next(Head& head,
                                      Appended at,
                                      fb::EventHeaderT& header,
                                      std::string_view raw,
                                      WriteUnit& unit) {
  at.duplicate = false;
  at.event = {++head.row.events};
  at.position = {++position_};
  head.row.raw_bytes += header.raw_bytes;
  head.row.chain = header.chain;
  head.dirty = true;
  header.position = at.position.value;
  RESPOOL_TRY(stage_event(raw, header, at, unit));
  unit.put(Family::Index,
           keys::position(at.position),
           keys::encode_location({at.session, at.origin, at.event}));
  return at;
}

Result<void> EventLog::stage_event(std::string_view raw,
                                   fb::EventHeaderT& header,
                                   const Appended& at,
                                   WriteUnit& unit) {
  const std::string key = keys::event(at.session, at.origin, at.event);
  if (raw.size() <= kChunkBytes) {
    const std::string encoded = encode(header);
    unit.put(Family::Log, key, {length_prefix(encoded.size()), encoded, raw});
    return ok();
  }
  // Chunks go ahead in writes of their own: without the row that names them nobody reads them.
  std::string_view rest = raw;
  WriteUnit chunks(*store_);
  while (!rest.empty()) {
    const std::string_view chunk = rest.substr(0, kChunkBytes);
    chunks.put(
        Family::Log, keys::event_chunk(at.session, at.origin, at.event, header.chunks++), chunk);
    rest.remove_prefix(chunk.size());
    constexpr std::uint64_t kWriteBytes = 8 * kChunkBytes;
    if (chunks.bytes() >= kWriteBytes || rest.empty()) {
      RESPOOL_TRY(store_->commit(chunks, Durability::Buffered));
    }
  }
  const std::string encoded = encode(header);
  unit.put(Family::Log, key, {length_prefix(encoded.size()), encoded});
  return ok();
}

Result<std::uint32_t> EventLog::add_recording(const fb::RecordingT& recording, WriteUnit& unit) {
  const std::uint32_t number = ++recordings_;
  unit.put(Family::Index, keys::recording(number), encode(recording));
  return number;
}

void EventLog::stage_heads(WriteUnit& unit) {
  for (auto& [numbers, head] : heads_) {
    if (!head.dirty) continue;
    unit.put(Family::Index, keys::head(numbers.first, numbers.second), encode(head.row));
    head.dirty = false;
  }
}

void EventLog::committed() {
  pending_deliveries_.clear();
  view_.reset();
}

// ---------------------------------------------------------------- reading

Result<LogPosition> last_position(const ReadView& view) {
  RESPOOL_TRY(const auto last, view.last(Family::Index, keys::position_prefix()));
  if (!last) return LogPosition{0};
  const auto number = keys::decode_number(std::string_view(last->first).substr(1));
  if (!number)
    return Error(
        ErrorCode::Corruption, "a position's key has a wrong length", "run \"respool verify\"");
  return LogPosition{*number};
}

Result<std::optional<SessionNumber>> find_stream(const ReadView& view, const StreamName& name) {
  RESPOOL_TRY(const auto row, view.get(Family::Index, keys::stream_name(name)));
  if (!row) return std::optional<SessionNumber>();
  const auto number = keys::decode_number(*row);
  if (!number)
    return Error(
        ErrorCode::Corruption, "a stream's number has a wrong length", "run \"respool verify\"");
  return std::optional<SessionNumber>(SessionNumber{*number});
}

Result<StreamName> stream_of(const ReadView& view, SessionNumber session) {
  RESPOOL_TRY(const auto row, view.get(Family::Index, keys::session_number(session)));
  if (!row || row->empty()) {
    return Error(ErrorCode::Corruption,
                 fmt::format("stream {} has no name", session.value),
                 "run \"respool verify\"");
  }
  return StreamName{static_cast<StreamKind>(row->front()), row->substr(1)};
}

Result<std::string> origin_id(const ReadView& view, OriginNumber origin) {
  RESPOOL_TRY(const auto row, view.get(Family::Index, keys::origin_number(origin)));
  if (!row) {
    return Error(ErrorCode::Corruption,
                 fmt::format("origin {} has no id", origin.value),
                 "run \"respool verify\"");
  }
  return *row;
}

Result<std::string> origin_host(const ReadView& view, OriginNumber origin) {
  RESPOOL_TRY(const auto id, origin_id(view, origin));
  const auto& own = view.store().meta();
  if (id == own.origin) return own.origin_host;
  RESPOOL_TRY(auto host, view.get(Family::Index, keys::origin_host(origin)));
  return std::move(host).value_or("");
}

Result<std::optional<OriginNumber>> find_origin(const ReadView& view, std::string_view id) {
  RESPOOL_TRY(const auto row, view.get(Family::Index, keys::origin_name(id)));
  if (!row) return std::optional<OriginNumber>();
  const auto number = keys::decode_number(*row);
  if (!number)
    return Error(
        ErrorCode::Corruption, "an origin's number has a wrong length", "run \"respool verify\"");
  return std::optional<OriginNumber>(OriginNumber{*number});
}

Result<HeldStream> find_held(const ReadView& view,
                             const StreamName& name,
                             std::string_view origin_id) {
  HeldStream held;
  const Sha256 start = chain_start(name, origin_id);
  held.chain = as_bytes(start);
  RESPOOL_TRY(const auto session, find_stream(view, name));
  RESPOOL_TRY(const auto origin, find_origin(view, origin_id));
  if (!session || !origin) return held;
  RESPOOL_TRY(const auto stored, view.get(Family::Index, keys::head(*session, *origin)));
  if (!stored) return held;
  RESPOOL_TRY(const auto head,
              decode<fb::StreamHeadT>(*stored, fmt::format("head of stream {}", session->value)));
  return HeldStream{*session, *origin, head.events, std::string(bytes_of(head.chain))};
}

Result<StoredEvent> read_event(const ReadView& view,
                               SessionNumber session,
                               OriginNumber origin,
                               EventNumber number) {
  EventCursor cursor(view, keys::event(session, origin, number));
  RESPOOL_TRY(auto event, cursor.next());
  if (!event)
    return Error(ErrorCode::NotFound,
                 fmt::format("{} is not there", place_of(session, origin, number)));
  return std::move(*event);
}

Result<StoredEvent> read_event_at(const ReadView& view, LogPosition position) {
  RESPOOL_TRY(const auto row, view.get(Family::Index, keys::position(position)));
  if (!row)
    return Error(ErrorCode::NotFound, fmt::format("no event at position {}", position.value));
  const auto key = keys::decode_location(*row);
  if (!key) {
    return Error(ErrorCode::Corruption,
                 fmt::format("position {} is damaged", position.value),
                 "run \"respool verify\"");
  }
  return read_event(view, key->session, key->origin, key->event);
}

EventCursor::EventCursor(const ReadView& view, std::string_view prefix)
    : rows_(view.scan_prefix(Family::Log, prefix)) {}

Result<std::optional<StoredEvent>> EventCursor::next() {
  // Chunks without their event are what a crash left of an append that never happened.
  while (rows_.valid()) {
    const auto key = keys::parse_event(rows_.key());
    if (!key)
      return Error(
          ErrorCode::Corruption, "a key of the log has a wrong length", "run \"respool verify\"");
    if (!key->is_chunk) break;
    rows_.next();
  }
  if (!rows_.valid()) {
    RESPOOL_TRY(rows_.finish());
    return std::optional<StoredEvent>();
  }
  const auto key = *keys::parse_event(rows_.key());
  RESPOOL_TRY(auto parts, event_row::take_apart(key, rows_.value()));
  StoredEvent event{
      key.session, key.origin, key.event, std::move(parts.header), std::string(parts.raw)};
  rows_.next();
  for (std::uint32_t chunk = 0; chunk < event.header.chunks; ++chunk, rows_.next()) {
    const bool there = rows_.valid() &&
                       rows_.key() == keys::event_chunk(key.session, key.origin, key.event, chunk);
    if (!there)
      return damaged(key, fmt::format("chunk {} of {} is missing", chunk, event.header.chunks));
    event.raw += rows_.value();
  }
  const bool erased = !event.header.commitment.empty();
  if (!erased && event.raw.size() != event.header.raw_bytes) return wrong_size(key, event);
  return std::optional<StoredEvent>(std::move(event));
}

}  // namespace respool
