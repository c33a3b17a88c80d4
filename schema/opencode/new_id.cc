#include "schema/opencode/new_id.h"

#include <algorithm>

#include <fmt/format.h>

#include "schema/digest.h"
#include "schema/opencode/id_time.h"

namespace respool {
namespace {

constexpr std::uint64_t kPeriod = std::uint64_t{1} << 48;  // ids wrap
constexpr std::uint64_t kCounters = 4096;                  // a millisecond

std::string with_tail(std::string_view prefix, std::uint64_t bits, std::string_view seed) {
  constexpr std::string_view kBase62 =
      "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  constexpr std::size_t kTail = 14;
  std::string id = fmt::format("{}{:012x}", prefix, bits % kPeriod);
  const Sha256 digest = sha256(fmt::format("{}\n{}", id, seed));
  for (std::size_t i = 0; i < kTail; ++i)
    id.push_back(kBase62[(digest[2 * i] * 256U + digest[2 * i + 1]) % kBase62.size()]);
  return id;
}

}  // namespace

NewIds::NewIds(std::string seed, std::int64_t time_ms, std::uint64_t count)
    : seed_(std::move(seed)),
      next_(static_cast<std::uint64_t>(std::max<std::int64_t>(0, time_ms)) * kCounters + 1) {
  if (next_ / kPeriod != (next_ + count) / kPeriod) next_ = (next_ + count) / kPeriod * kPeriod + 1;
}

std::string NewIds::session() {
  return with_tail("ses_", ~(next_++) & (kPeriod - 1), seed_);
}

std::string NewIds::ascending(std::string_view prefix) {
  return with_tail(prefix, next_++, seed_);
}

std::string id_for(std::string_view prefix, std::string_view seed, std::int64_t time_ms) {
  return with_tail(prefix, id_bits_at(std::max<std::int64_t>(0, time_ms), 0), seed);
}

}  // namespace respool
