#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "schema/ids.h"

// Every key of the store is built and read here; schema/FORMAT.md lists them byte by byte.
// Numbers are big-endian, so that keys sort as numbers do.
namespace respool::keys {

// --- family "log": one stream's events lie together, in order ---
std::string event(SessionNumber session, OriginNumber origin, EventNumber event);
std::string event_chunk(SessionNumber session,
                        OriginNumber origin,
                        EventNumber event,
                        std::uint32_t chunk);
std::string stream_prefix(SessionNumber session, OriginNumber origin);
std::string session_log_prefix(SessionNumber session);

struct EventKey {
  SessionNumber session;
  OriginNumber origin;
  EventNumber event;
  bool is_chunk = false;
};
std::optional<EventKey> parse_event(std::string_view key);

// --- family "index" ---
std::string store_meta();
std::string stream_name(const StreamName& name);      // -> session number
std::string session_number(SessionNumber session);    // -> kind byte and name
std::string origin_name(std::string_view origin_id);  // -> origin number
std::string origin_number(OriginNumber origin);       // -> origin id
std::string origin_number_prefix();
std::string origin_host(OriginNumber origin);  // of another store's origin -> its host
std::string head(SessionNumber session, OriginNumber origin);
std::string head_prefix();
std::string session_heads_prefix(SessionNumber session);
std::string delivery(SessionNumber session, std::string_view delivery_key);
std::string position(LogPosition position);  // -> where the event lies
std::string position_prefix();
std::string recording(std::uint32_t number);
std::string recording_prefix();
std::string stream_name_prefix(StreamKind kind);
std::string spool_cursor(std::string_view recording_id);  // how far a recording was drained
std::string spool_cursor_prefix();
std::string database_cursor(std::string_view path);  // how far a database was read
std::string database_cursor_prefix();

std::string encode_number(std::uint64_t number);  // 8 bytes
std::optional<std::uint64_t> decode_number(std::string_view bytes);
std::string encode_location(const EventKey& key);
std::optional<EventKey> decode_location(std::string_view bytes);
struct HeadKey {
  SessionNumber session;
  OriginNumber origin;
};
std::optional<HeadKey> parse_head(std::string_view key);

// --- family "model@generation" ---
enum class Table : char {
  Checkpoint = 1,
  Sessions = 2,  // session number
  Totals = 3,    // session number
  Rollups = 4,   // bucket, session number, dimensions
  Steps = 5,     // session number, message id
  Copies = 6,    // group, session number, message id
  Facts = 16,    // session number, kind of fact, identity
};
std::string table_prefix(Table table);
std::string checkpoint();
std::string session_row(SessionNumber session);
std::string totals_row(SessionNumber session);
std::string rollup(std::uint32_t bucket, SessionNumber session, std::string_view dimensions);
std::string rollup_from(std::uint32_t bucket);
std::string step(SessionNumber session, std::string_view message);
std::string steps_prefix(SessionNumber session);
std::string copy_member(std::uint64_t high,
                        std::uint64_t low,
                        SessionNumber session,
                        std::string_view message);
std::string copy_group(std::uint64_t high, std::uint64_t low);
std::string fact(SessionNumber session, char kind, std::string_view identity);
std::string facts_prefix(SessionNumber session);
std::string facts_prefix(SessionNumber session, char kind);

// The session number of a key of Sessions, Totals, Steps or Facts.
std::optional<SessionNumber> session_of(std::string_view model_key);

struct RollupKey {
  std::uint32_t bucket = 0;
  SessionNumber session;
  std::string_view dimensions;
};
std::optional<RollupKey> parse_rollup(std::string_view key);

struct CopyKey {
  std::pair<std::uint64_t, std::uint64_t> group;
  SessionNumber session;
  std::string_view message;
};
std::optional<CopyKey> parse_copy_member(std::string_view key);

struct FactKey {
  SessionNumber session;
  char kind = 0;
  std::string_view identity;
};
std::optional<FactKey> parse_fact(std::string_view key);

// The first key after all keys that start with `prefix`; empty where there is none.
std::string after_prefix(std::string_view prefix);

}  // namespace respool::keys
