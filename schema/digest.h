#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace respool {

using Sha256 = std::array<unsigned char, 32>;

inline std::string_view as_bytes(const Sha256& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

// SHA-256 of one text or of several, fed in order.
//
// Threads: one thread at a time. Errors: none; OpenSSL failing here is a broken machine and aborts.
class Sha256Hasher {
 public:
  Sha256Hasher();
  ~Sha256Hasher();
  Sha256Hasher(const Sha256Hasher&) = delete;
  Sha256Hasher& operator=(const Sha256Hasher&) = delete;

  // Starts anew; a fresh hasher needs no reset().
  void reset();
  void update(std::string_view bytes);
  // Ends the digest. Call reset() before the next update().
  Sha256 finish();

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

Sha256 sha256(std::string_view bytes);

// HMAC-SHA-256 of `bytes` under `key`.
Sha256 hmac_sha256(std::string_view key, std::string_view bytes);

// A fast 64-bit hash for telling contents apart where nobody is an enemy: never for integrity.
std::uint64_t content_hash(std::string_view bytes, std::uint64_t seed = 0);

// `count` bytes from the operating system's generator.
std::string random_bytes(std::size_t count);

std::string to_hex(std::string_view bytes);

}  // namespace respool
