#include "engine/storage/read_view.h"

#include <utility>

#include <fmt/format.h>

#include "engine/storage/database.h"
#include "engine/storage/keys.h"
#include "engine/storage/status.h"

namespace respool {
namespace {

std::string_view family_name(Family family) {
  switch (family) {
    case Family::Log:
      return "log";
    case Family::Index:
      return "index";
    case Family::Model:
      return "model";
    case Family::NextModel:
      return "next model";
  }
  return "?";
}

}  // namespace

RowCursor::RowCursor(std::unique_ptr<rocksdb::Iterator> rows, std::string end)
    : rows_(std::move(rows)), end_(std::move(end)) {}
RowCursor::~RowCursor() = default;
RowCursor::RowCursor(RowCursor&&) noexcept = default;

bool RowCursor::valid() const {
  return rows_->Valid() && (end_.empty() || key() < end_);
}
std::string_view RowCursor::key() const {
  return text(rows_->key());
}
std::string_view RowCursor::value() const {
  return text(rows_->value());
}
void RowCursor::next() {
  rows_->Next();
}

Result<void> RowCursor::finish() const {
  if (!rows_->status().ok()) return from_rocksdb(rows_->status(), "scan");
  return ok();
}

ReadView::ReadView(const Store& store) : store_(&store) {
  if (store.writable()) snapshot_ = store.db_->db->GetSnapshot();
}

ReadView::~ReadView() {
  if (snapshot_ != nullptr) store_->db_->db->ReleaseSnapshot(snapshot_);
}

ReadView::ReadView(ReadView&& other) noexcept
    : store_(other.store_), snapshot_(std::exchange(other.snapshot_, nullptr)) {}

Result<std::optional<std::string>> ReadView::get(Family family, std::string_view key) const {
  rocksdb::ReadOptions options;
  options.snapshot = snapshot_;
  std::string value;
  const auto status = store_->db_->db->Get(options, store_->db_->of(family), slice(key), &value);
  if (status.IsNotFound()) return std::optional<std::string>();
  if (!status.ok())
    return from_rocksdb(status, fmt::format("read a row of \"{}\"", family_name(family)));
  store_->count(family);
  return std::optional<std::string>(std::move(value));
}

RowCursor ReadView::scan(Family family, std::string_view from, std::string_view to) const {
  rocksdb::ReadOptions options;
  options.snapshot = snapshot_;
  std::unique_ptr<rocksdb::Iterator> rows(
      store_->db_->db->NewIterator(options, store_->db_->of(family)));
  rows->Seek(slice(from));
  store_->count(family);
  return RowCursor(std::move(rows), std::string(to));
}

RowCursor ReadView::scan_prefix(Family family, std::string_view prefix) const {
  return scan(family, prefix, keys::after_prefix(prefix));
}

Result<std::optional<std::pair<std::string, std::string>>> ReadView::last(
    Family family,
    std::string_view prefix) const {
  using Row = std::optional<std::pair<std::string, std::string>>;
  rocksdb::ReadOptions options;
  options.snapshot = snapshot_;
  std::unique_ptr<rocksdb::Iterator> rows(
      store_->db_->db->NewIterator(options, store_->db_->of(family)));
  rows->SeekForPrev(slice(keys::after_prefix(prefix)));
  if (!rows->status().ok()) return from_rocksdb(rows->status(), "seek");
  if (!rows->Valid() || !text(rows->key()).starts_with(prefix)) return Row();
  return Row(std::pair<std::string, std::string>(text(rows->key()), text(rows->value())));
}

}  // namespace respool
