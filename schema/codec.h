#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schema/error.h"
#include "schema/event_generated.h"
#include "schema/facts_generated.h"
#include "schema/rollup_generated.h"
#include "schema/store_generated.h"

namespace respool {

// The bytes of a FlatBuffers vector, borrowed.
inline std::string_view bytes_of(const std::vector<std::uint8_t>& vector) {
  return {reinterpret_cast<const char*>(vector.data()), vector.size()};
}

// Rows on disk are FlatBuffers. Their native structs (`fb::MessageRowT`, ...) are also the facts in
// memory; equal rows encode to equal bytes.

// The stored bytes of `row`.
template <class NativeRow>
std::string encode(const NativeRow& row);

// Reads and checks stored bytes. Corruption where they are not such a row; `place` names them.
template <class NativeRow>
Result<NativeRow> decode(std::string_view bytes, std::string_view place);

}  // namespace respool
