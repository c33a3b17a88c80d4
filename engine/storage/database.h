#pragma once

// Internal to this folder: the one header that shows RocksDB, for the sources beside it.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <rocksdb/db.h>
#include <rocksdb/options.h>

#include "schema/assert.h"

#include "engine/storage/store.h"

namespace respool {

inline constexpr const char* kLogFamily = "log";
inline constexpr const char* kIndexFamily = "index";

rocksdb::DBOptions database_options();
rocksdb::ColumnFamilyOptions family_options(const std::string& name);

inline rocksdb::Slice slice(std::string_view text) {
  return {text.data(), text.size()};
}
inline std::string_view text(rocksdb::Slice bytes) {
  return {bytes.data(), bytes.size()};
}

// An open RocksDB and its families. Members outlive each other in this order.
struct Store::Database {
  std::unique_ptr<rocksdb::DB> db;
  std::vector<rocksdb::ColumnFamilyHandle*> owned;
  rocksdb::ColumnFamilyHandle* family[4] = {};

  ~Database() {
    for (auto* handle : owned) {
      if (handle != nullptr) db->DestroyColumnFamilyHandle(handle).PermitUncheckedError();
    }
  }

  rocksdb::ColumnFamilyHandle* of(Family which) const {
    auto* handle = family[static_cast<std::size_t>(which)];
    RESPOOL_ASSERT(handle != nullptr);
    return handle;
  }

  rocksdb::ColumnFamilyHandle* named(const std::string& name) const {
    for (auto* handle : owned) {
      if (handle != nullptr && handle->GetName() == name) return handle;
    }
    return nullptr;
  }

  void forget(rocksdb::ColumnFamilyHandle* gone) {
    for (auto*& handle : owned) {
      if (handle != gone) continue;
      db->DestroyColumnFamilyHandle(handle).PermitUncheckedError();
      handle = nullptr;
    }
  }
};

}  // namespace respool
