#include "engine/storage/keys.h"

namespace respool::keys {
namespace {

constexpr std::size_t kEventKeyBytes = 20;
constexpr char kChunkMark = 1;

// Letters of the family "index".
constexpr char kMeta = 'M';
constexpr char kName = 'n';
constexpr char kNumber = 'N';
constexpr char kOriginName = 'o';
constexpr char kOriginNumber = 'O';
constexpr char kOriginHost = 'H';
constexpr char kHead = 'h';
constexpr char kDelivery = 'd';
constexpr char kPosition = 'p';
constexpr char kRecording = 'r';
constexpr char kSpoolCursor = 'c';
constexpr char kDatabaseCursor = 'b';

void put_u32(std::string& key, std::uint64_t number) {
  for (int shift = 24; shift >= 0; shift -= 8)
    key.push_back(static_cast<char>(number >> shift & 255));
}

void put_u64(std::string& key, std::uint64_t number) {
  put_u32(key, number >> 32);
  put_u32(key, number & 0xFFFFFFFF);
}

std::uint64_t get(std::string_view key, std::size_t at, std::size_t bytes) {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < bytes; ++i)
    number = number << 8 | static_cast<unsigned char>(key[at + i]);
  return number;
}

std::string letter(char c) {
  return std::string(1, c);
}

std::string letter_and(char c, std::string_view rest) {
  std::string key(1, c);
  key += rest;
  return key;
}

std::string letter_and(char c, std::uint64_t number) {
  std::string key(1, c);
  put_u64(key, number);
  return key;
}

std::string in_table(Table table) {
  return letter(static_cast<char>(table));
}

std::string in_table(Table table, SessionNumber session) {
  return letter_and(static_cast<char>(table), session.value);
}

}  // namespace

std::string session_log_prefix(SessionNumber session) {
  return encode_number(session.value);
}

std::string stream_prefix(SessionNumber session, OriginNumber origin) {
  std::string key = session_log_prefix(session);
  put_u32(key, origin.value);
  return key;
}

std::string event(SessionNumber session, OriginNumber origin, EventNumber event) {
  std::string key = stream_prefix(session, origin);
  put_u64(key, event.value);
  return key;
}

std::string event_chunk(SessionNumber session,
                        OriginNumber origin,
                        EventNumber number,
                        std::uint32_t chunk) {
  std::string key = event(session, origin, number);
  key.push_back(kChunkMark);
  put_u32(key, chunk);
  return key;
}

std::optional<EventKey> parse_event(std::string_view key) {
  const bool chunk = key.size() == kEventKeyBytes + 5 && key[kEventKeyBytes] == kChunkMark;
  if (key.size() != kEventKeyBytes && !chunk) return std::nullopt;
  return EventKey{{get(key, 0, 8)}, {get(key, 8, 4)}, {get(key, 12, 8)}, chunk};
}

std::string store_meta() {
  return letter(kMeta);
}

std::string stream_name_prefix(StreamKind kind) {
  std::string key = letter(kName);
  key.push_back(static_cast<char>(kind));
  return key;
}

std::string stream_name(const StreamName& name) {
  return stream_name_prefix(name.kind) + name.text;
}
std::string session_number(SessionNumber session) {
  return letter_and(kNumber, session.value);
}
std::string origin_name(std::string_view origin_id) {
  return letter_and(kOriginName, origin_id);
}
std::string origin_number(OriginNumber origin) {
  return letter_and(kOriginNumber, origin.value);
}
std::string origin_number_prefix() {
  return letter(kOriginNumber);
}
std::string origin_host(OriginNumber origin) {
  return letter_and(kOriginHost, origin.value);
}
std::string head_prefix() {
  return letter(kHead);
}
std::string session_heads_prefix(SessionNumber session) {
  return letter_and(kHead, session.value);
}

std::string head(SessionNumber session, OriginNumber origin) {
  std::string key = session_heads_prefix(session);
  put_u32(key, origin.value);
  return key;
}

std::optional<HeadKey> parse_head(std::string_view key) {
  if (key.size() != 13 || key[0] != kHead) return std::nullopt;
  return HeadKey{{get(key, 1, 8)}, {get(key, 9, 4)}};
}

std::string delivery(SessionNumber session, std::string_view delivery_key) {
  return letter_and(kDelivery, session.value).append(delivery_key);
}

std::string position(LogPosition position) {
  return letter_and(kPosition, position.value);
}
std::string position_prefix() {
  return letter(kPosition);
}
std::string recording_prefix() {
  return letter(kRecording);
}

std::string recording(std::uint32_t number) {
  std::string key = recording_prefix();
  put_u32(key, number);
  return key;
}

std::string spool_cursor(std::string_view recording_id) {
  return letter_and(kSpoolCursor, recording_id);
}

std::string spool_cursor_prefix() {
  return letter(kSpoolCursor);
}

std::string database_cursor(std::string_view path) {
  return letter_and(kDatabaseCursor, path);
}

std::string database_cursor_prefix() {
  return letter(kDatabaseCursor);
}

std::string encode_number(std::uint64_t number) {
  std::string bytes;
  put_u64(bytes, number);
  return bytes;
}

std::optional<std::uint64_t> decode_number(std::string_view bytes) {
  if (bytes.size() != 8) return std::nullopt;
  return get(bytes, 0, 8);
}

std::string encode_location(const EventKey& key) {
  return event(key.session, key.origin, key.event);
}

std::optional<EventKey> decode_location(std::string_view bytes) {
  const auto key = parse_event(bytes);
  if (!key || key->is_chunk) return std::nullopt;
  return key;
}

std::string table_prefix(Table table) {
  return in_table(table);
}
std::string checkpoint() {
  return in_table(Table::Checkpoint);
}
std::string session_row(SessionNumber session) {
  return in_table(Table::Sessions, session);
}
std::string totals_row(SessionNumber session) {
  return in_table(Table::Totals, session);
}

std::string rollup_from(std::uint32_t bucket) {
  std::string key = in_table(Table::Rollups);
  put_u32(key, bucket);
  return key;
}

std::string rollup(std::uint32_t bucket, SessionNumber session, std::string_view dimensions) {
  std::string key = rollup_from(bucket);
  put_u64(key, session.value);
  key += dimensions;
  return key;
}

std::optional<RollupKey> parse_rollup(std::string_view key) {
  if (key.size() < 13) return std::nullopt;
  return RollupKey{static_cast<std::uint32_t>(get(key, 1, 4)), {get(key, 5, 8)}, key.substr(13)};
}

std::string steps_prefix(SessionNumber session) {
  return in_table(Table::Steps, session);
}

std::string step(SessionNumber session, std::string_view message) {
  return steps_prefix(session).append(message);
}

std::string copy_group(std::uint64_t high, std::uint64_t low) {
  std::string key = in_table(Table::Copies);
  put_u64(key, high);
  put_u64(key, low);
  return key;
}

std::string copy_member(std::uint64_t high,
                        std::uint64_t low,
                        SessionNumber session,
                        std::string_view message) {
  std::string key = copy_group(high, low);
  put_u64(key, session.value);
  key += message;
  return key;
}

std::optional<CopyKey> parse_copy_member(std::string_view key) {
  if (key.size() < 25) return std::nullopt;
  return CopyKey{{get(key, 1, 8), get(key, 9, 8)}, {get(key, 17, 8)}, key.substr(25)};
}

std::string facts_prefix(SessionNumber session) {
  return in_table(Table::Facts, session);
}

std::string facts_prefix(SessionNumber session, char kind) {
  std::string key = facts_prefix(session);
  key.push_back(kind);
  return key;
}

std::string fact(SessionNumber session, char kind, std::string_view identity) {
  return facts_prefix(session, kind).append(identity);
}

std::optional<FactKey> parse_fact(std::string_view key) {
  if (key.size() < 10) return std::nullopt;
  return FactKey{{get(key, 1, 8)}, key[9], key.substr(10)};
}

std::optional<SessionNumber> session_of(std::string_view model_key) {
  if (model_key.size() < 9) return std::nullopt;
  return SessionNumber{get(model_key, 1, 8)};
}

std::string after_prefix(std::string_view prefix) {
  std::string end(prefix);
  while (!end.empty() && static_cast<unsigned char>(end.back()) == 255)
    end.pop_back();
  if (!end.empty()) end.back() = static_cast<char>(static_cast<unsigned char>(end.back()) + 1);
  return end;
}

}  // namespace respool::keys
