#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "schema/error.h"

#include "engine/storage/write_unit.h"

namespace rocksdb {
class Iterator;
class Snapshot;
}  // namespace rocksdb

namespace respool {

// Walks the keys from one bound to another, in order.
//
// Ownership: key() and value() live until the next step. Errors: an error looks like the end; after
// the loop, finish() tells which it was.
class RowCursor {
 public:
  RowCursor(std::unique_ptr<rocksdb::Iterator> rows, std::string end);
  ~RowCursor();
  RowCursor(RowCursor&&) noexcept;
  RowCursor& operator=(RowCursor&&) = delete;

  bool valid() const;
  std::string_view key() const;
  std::string_view value() const;
  void next();
  Result<void> finish() const;

 private:
  std::unique_ptr<rocksdb::Iterator> rows_;
  std::string end_;
};

// What a store held at one moment.
//
// Threads: any. Ownership: the store must outlive it. Errors: Corruption names the family.
class ReadView {
 public:
  explicit ReadView(const Store& store);
  ~ReadView();
  ReadView(ReadView&&) noexcept;
  ReadView& operator=(ReadView&&) = delete;

  Result<std::optional<std::string>> get(Family family, std::string_view key) const;
  // Rows with from <= key < to; an empty `to` means until the end.
  RowCursor scan(Family family, std::string_view from, std::string_view to) const;
  RowCursor scan_prefix(Family family, std::string_view prefix) const;
  // The last row with that prefix, as a cursor of at most one row.
  Result<std::optional<std::pair<std::string, std::string>>> last(Family family,
                                                                  std::string_view prefix) const;

  const Store& store() const { return *store_; }

 private:
  const Store* store_;
  const rocksdb::Snapshot* snapshot_ = nullptr;
};

}  // namespace respool
