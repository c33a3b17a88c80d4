#include "engine/log/event_row.h"

#include <fmt/format.h>

namespace respool::event_row {
namespace {

constexpr std::size_t kHeaderLengthBytes = 4;

}  // namespace

std::string place_of(SessionNumber session, OriginNumber origin, EventNumber event) {
  return fmt::format("stream {}/{}: event {}", session.value, origin.value, event.value);
}

Error damaged(const keys::EventKey& key, std::string_view what) {
  return Error(ErrorCode::Corruption,
               fmt::format("{}: {}", place_of(key.session, key.origin, key.event), what),
               "run \"respool verify\"");
}

std::string length_prefix(std::size_t size) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8)
    bytes.push_back(static_cast<char>(size >> shift & 255));
  return bytes;
}

Result<Parts> take_apart(const keys::EventKey& key, std::string_view value) {
  if (value.size() < kHeaderLengthBytes) return damaged(key, "the row is cut short");
  std::size_t length = 0;
  for (std::size_t i = 0; i < kHeaderLengthBytes; ++i)
    length = length << 8 | static_cast<unsigned char>(value[i]);
  if (length > value.size() - kHeaderLengthBytes) return damaged(key, "the header is cut short");
  Parts parts;
  RESPOOL_TRY(parts.header,
              decode<fb::EventHeaderT>(value.substr(kHeaderLengthBytes, length),
                                       place_of(key.session, key.origin, key.event)));
  parts.raw = value.substr(kHeaderLengthBytes + length);
  return parts;
}

}  // namespace respool::event_row
