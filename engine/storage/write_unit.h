#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string_view>

namespace rocksdb {
class WriteBatch;
}

namespace respool {

// The column families of a store. Model is the live generation, NextModel the one a rebuild fills.
enum class Family : std::uint8_t { Log, Index, Model, NextModel };

class Store;

// Rows that are written together or not at all.
//
// Threads: one thread at a time. Ownership: belongs to the store that made it.
class WriteUnit {
 public:
  explicit WriteUnit(Store& store);
  ~WriteUnit();
  WriteUnit(const WriteUnit&) = delete;
  WriteUnit& operator=(const WriteUnit&) = delete;

  void put(Family family, std::string_view key, std::string_view value);
  // Puts the concatenation of `parts` without making it first.
  void put(Family family, std::string_view key, std::initializer_list<std::string_view> parts);
  void erase(Family family, std::string_view key);
  void erase_range(Family family, std::string_view from, std::string_view to);

  std::uint64_t bytes() const;
  bool empty() const;
  void clear();

 private:
  friend class Store;
  Store& store_;
  std::unique_ptr<rocksdb::WriteBatch> batch_;
};

}  // namespace respool
