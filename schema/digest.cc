#include "schema/digest.h"

#include <xxhash.h>

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include "schema/assert.h"

namespace respool {

struct Sha256Hasher::Context {
  EVP_MD* algorithm = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  EVP_MD_CTX* state = EVP_MD_CTX_new();

  Context() {
    RESPOOL_ASSERT(algorithm != nullptr && state != nullptr);
    restart();
  }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  ~Context() {
    EVP_MD_CTX_free(state);
    EVP_MD_free(algorithm);
  }
  void restart() { RESPOOL_ASSERT(EVP_DigestInit_ex2(state, algorithm, nullptr) == 1); }
};

Sha256Hasher::Sha256Hasher() : context_(std::make_unique<Context>()) {}
Sha256Hasher::~Sha256Hasher() = default;

void Sha256Hasher::reset() {
  context_->restart();
}

void Sha256Hasher::update(std::string_view bytes) {
  RESPOOL_ASSERT(EVP_DigestUpdate(context_->state, bytes.data(), bytes.size()) == 1);
}

Sha256 Sha256Hasher::finish() {
  Sha256 digest;
  RESPOOL_ASSERT(EVP_DigestFinal_ex(context_->state, digest.data(), nullptr) == 1);
  return digest;
}

Sha256 sha256(std::string_view bytes) {
  thread_local Sha256Hasher hasher;
  hasher.reset();
  hasher.update(bytes);
  return hasher.finish();
}

Sha256 hmac_sha256(std::string_view key, std::string_view bytes) {
  // HMAC by its definition (RFC 2104): the key is at most one block long.
  constexpr std::size_t kBlockBytes = 64;
  RESPOOL_ASSERT(key.size() <= kBlockBytes);
  std::array<char, kBlockBytes> inner{};
  std::array<char, kBlockBytes> outer{};
  for (std::size_t i = 0; i < kBlockBytes; ++i) {
    const char byte = i < key.size() ? key[i] : '\0';
    inner[i] = static_cast<char>(byte ^ 0x36);
    outer[i] = static_cast<char>(byte ^ 0x5c);
  }
  thread_local Sha256Hasher hasher;
  hasher.reset();
  hasher.update({inner.data(), inner.size()});
  hasher.update(bytes);
  const Sha256 first = hasher.finish();
  hasher.reset();
  hasher.update({outer.data(), outer.size()});
  hasher.update(as_bytes(first));
  return hasher.finish();
}

std::uint64_t content_hash(std::string_view bytes, std::uint64_t seed) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

std::string random_bytes(std::size_t count) {
  std::string bytes(count, '\0');
  RESPOOL_ASSERT(
      RAND_bytes(reinterpret_cast<unsigned char*>(bytes.data()), static_cast<int>(count)) == 1);
  return bytes;
}

std::string to_hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  hex.reserve(bytes.size() * 2);
  for (const char byte : bytes) {
    hex.push_back(kDigits[static_cast<unsigned char>(byte) >> 4]);
    hex.push_back(kDigits[static_cast<unsigned char>(byte) & 15]);
  }
  return hex;
}

}  // namespace respool
