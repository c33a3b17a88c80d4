#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/log/event.h"
#include "engine/storage/keys.h"

// Internal to this folder: how an event lies in its row.
namespace respool::event_row {

// A stored row taken apart.
struct Parts {
  fb::EventHeaderT header;
  std::string_view raw;  // what stands in the row itself; borrowed
};

// "stream 3/1: event 42".
std::string place_of(SessionNumber session, OriginNumber origin, EventNumber event);
Error damaged(const keys::EventKey& key, std::string_view what);
// Four bytes, big-endian: what stands before the header.
std::string length_prefix(std::size_t size);
// Corruption where the row is cut short or its header is damaged.
Result<Parts> take_apart(const keys::EventKey& key, std::string_view value);

}  // namespace respool::event_row
