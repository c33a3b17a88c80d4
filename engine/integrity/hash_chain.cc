#include "engine/integrity/hash_chain.h"

#include <string>

namespace respool {
namespace {

void put_u64(std::string& bytes, std::uint64_t number) {
  for (int shift = 56; shift >= 0; shift -= 8)
    bytes.push_back(static_cast<char>(number >> shift & 255));
}

void put_text(std::string& bytes, std::string_view text) {
  put_u64(bytes, text.size());
  bytes += text;
}

template <class Optional>
void put_optional(std::string& bytes, const Optional& number) {
  bytes.push_back(number ? '\1' : '\0');
  put_u64(bytes, number ? static_cast<std::uint64_t>(*number) : 0);
}

}  // namespace

Sha256 chain_start(const StreamName& stream, std::string_view origin_id) {
  std::string bytes = "respool stream 1";
  bytes.push_back(static_cast<char>(stream.kind));
  put_text(bytes, stream.text);
  put_text(bytes, origin_id);
  return sha256(bytes);
}

Sha256 commitment_of(std::string_view salt, const Sha256& raw_digest) {
  std::string bytes(salt);
  bytes += as_bytes(raw_digest);
  return sha256(bytes);
}

Sha256 chain_next(std::string_view previous,
                  const fb::EventHeaderT& header,
                  const Sha256& commitment) {
  std::string bytes(previous);
  bytes.push_back(static_cast<char>(header.shape));
  put_text(bytes, header.wire_type);
  put_optional(bytes, header.time_ms);
  put_u64(bytes, static_cast<std::uint64_t>(header.received_ms));
  put_text(bytes, header.host);
  put_text(bytes, header.run);
  put_optional(bytes, header.as_of_ms);
  bytes += as_bytes(commitment);
  return sha256(bytes);
}

}  // namespace respool
