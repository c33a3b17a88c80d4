#include "engine/storage/write_unit.h"

#include <vector>

#include "engine/storage/database.h"

namespace respool {

WriteUnit::WriteUnit(Store& store)
    : store_(store), batch_(std::make_unique<rocksdb::WriteBatch>()) {}
WriteUnit::~WriteUnit() = default;

void WriteUnit::put(Family family, std::string_view key, std::string_view value) {
  batch_->Put(store_.db_->of(family), slice(key), slice(value)).PermitUncheckedError();
}

void WriteUnit::put(Family family,
                    std::string_view key,
                    std::initializer_list<std::string_view> parts) {
  std::vector<rocksdb::Slice> slices;
  for (const auto part : parts)
    slices.push_back(slice(part));
  const rocksdb::Slice key_slice = slice(key);
  batch_
      ->Put(store_.db_->of(family),
            rocksdb::SliceParts(&key_slice, 1),
            rocksdb::SliceParts(slices.data(), static_cast<int>(slices.size())))
      .PermitUncheckedError();
}

void WriteUnit::erase(Family family, std::string_view key) {
  batch_->Delete(store_.db_->of(family), slice(key)).PermitUncheckedError();
}

void WriteUnit::erase_range(Family family, std::string_view from, std::string_view to) {
  batch_->DeleteRange(store_.db_->of(family), slice(from), slice(to)).PermitUncheckedError();
}

std::uint64_t WriteUnit::bytes() const {
  return batch_->GetDataSize();
}
bool WriteUnit::empty() const {
  return batch_->Count() == 0;
}
void WriteUnit::clear() {
  batch_->Clear();
}

}  // namespace respool
