#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace respool {

// Finds where any of a set of short literals stands in a text, upper and small letters alike: about
// a nanosecond a byte. A hit is a hint: bytes that differ from the literal only in bit 5 pass too.
class AnchorScan {
 public:
  // `literal` has 3 bytes or more; `tag` is what hits carry.
  void add(std::string_view literal, std::size_t tag);

  // Calls `hit(position, tag)` for every place, in order of position.
  template <class Hit>
  void scan(std::string_view text, Hit hit) const {
    if (text.size() < 3) return;
    for (std::size_t at = 0; at + 3 <= text.size(); ++at) {
      const std::uint32_t hash = hash_of(text.data() + at);
      if (!filter_[hash]) continue;
      for (const auto& entry : buckets_[hash % kBuckets])
        if (entry.stands_at(text, at)) hit(at, entry.tag);
    }
  }

 private:
  static constexpr std::size_t kBuckets = 256;
  struct Entry {
    std::string folded;
    std::size_t tag = 0;
    bool stands_at(std::string_view text, std::size_t at) const;
  };
  static std::uint32_t hash_of(const char* three) {
    const auto byte = [&](int i) {
      return static_cast<std::uint32_t>(static_cast<unsigned char>(three[i])) | 0x20U;
    };
    return ((byte(0) | byte(1) << 8 | byte(2) << 16) * 0x9E3779B1U) >> 16;
  }

  std::vector<std::uint8_t> filter_ = std::vector<std::uint8_t>(1 << 16, 0);
  std::array<std::vector<Entry>, kBuckets> buckets_;
};

// A secret of one replay: its kind's place in a table of kinds, and its number.
struct SecretId {
  std::size_t kind = 0;
  std::uint64_t number = 0;
};

// Values known to be secret, found wherever they stand in a text.
class KnownValues {
 public:
  // Makes `value` known; what is known already keeps its secret.
  void add(const std::string& value, SecretId id);
  // Must be called between add() and scan().
  void index();

  // Calls `hit(position, size, id)` for the longest known value at each place where one begins, and
  // goes on behind it.
  template <class Hit>
  void scan(std::string_view text, Hit hit) const {
    if (sorted_.empty()) return;
    for (std::size_t at = 0; at + kKeyBytes <= text.size();) {
      const Row* row = filter_[hash_of(text.data() + at)] ? longest_at(text, at) : nullptr;
      if (row != nullptr) hit(at, row->value.size(), row->id);
      at += row != nullptr ? row->value.size() : 1;
    }
  }

 private:
  static constexpr std::size_t kKeyBytes = 8;
  struct Row {
    std::string_view value;  // borrowed from ids_
    SecretId id;
    std::size_t parent = 0;  // 1 + the longest other value that begins this one; 0 for none
  };
  static std::uint32_t hash_of(const char* eight) {
    std::uint64_t word = 0;
    std::memcpy(&word, eight, sizeof word);
    return static_cast<std::uint32_t>((word * 0x9E3779B97F4A7C15U) >> 48);
  }
  const Row* longest_at(std::string_view text, std::size_t at) const;

  std::map<std::string, SecretId> ids_;
  std::vector<Row> sorted_;
  std::vector<std::uint8_t> filter_ = std::vector<std::uint8_t>(1 << 16, 0);
};

}  // namespace respool
