// Any bytes: the cut into frames is the same whole and in pieces, and loses nothing but framing.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "schema/assert.h"

#include "ingest/source/framer.h"

namespace {

std::string cut(std::string_view bytes, std::size_t piece_bytes) {
  std::string frames;
  respool::Framer framer([&](const respool::Frame& frame) -> respool::Result<void> {
    frames += std::to_string(frame.place) + ":" + std::string(frame.raw) + "\n";
    return respool::ok();
  });
  while (!bytes.empty()) {
    RESPOOL_ASSERT(framer.feed(bytes.substr(0, piece_bytes)).has_value());
    bytes.remove_prefix(std::min(piece_bytes, bytes.size()));
  }
  RESPOOL_ASSERT(framer.finish().has_value());
  return frames;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::string whole = cut(bytes, size + 1);
  RESPOOL_ASSERT(cut(bytes, 1) == whole);
  RESPOOL_ASSERT(cut(bytes, 7) == whole);
  return 0;
}
