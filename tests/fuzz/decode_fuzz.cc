// Any bytes: decoding ends, and reading the record again by the shape it was given finds the same.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "schema/assert.h"
#include "schema/opencode/record.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace respool;
  const std::string_view raw(reinterpret_cast<const char*>(data), size);
  const Record first = decode_record(raw);
  const Record again = decode_record(raw, first.shape, first.session);
  RESPOOL_ASSERT(first.kind == again.kind && first.problems == again.problems);
  RESPOOL_ASSERT(first.session == again.session && first.sequence == again.sequence);
  RESPOOL_ASSERT(first.body.index() == again.body.index());
  const Content content = decode_content(raw, first.shape);
  RESPOOL_ASSERT(content.text.size() <= 3 * size);
  return 0;
}
