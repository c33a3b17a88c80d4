#include "query/replay/mask_scan.h"

#include <algorithm>

#include "schema/assert.h"

namespace respool {

void AnchorScan::add(std::string_view literal, std::size_t tag) {
  RESPOOL_ASSERT(literal.size() >= 3);
  Entry entry{std::string(literal), tag};
  for (char& c : entry.folded)
    c = static_cast<char>(c | 0x20);
  const std::uint32_t hash = hash_of(literal.data());
  filter_[hash] = 1;
  buckets_[hash % kBuckets].push_back(std::move(entry));
}

bool AnchorScan::Entry::stands_at(std::string_view text, std::size_t at) const {
  if (text.size() - at < folded.size()) return false;
  for (std::size_t i = 0; i < folded.size(); ++i)
    if (static_cast<char>(text[at + i] | 0x20) != folded[i]) return false;
  return true;
}

void KnownValues::add(const std::string& value, SecretId id) {
  RESPOOL_ASSERT(value.size() >= kKeyBytes);
  ids_.emplace(value, id);
}

void KnownValues::index() {
  if (sorted_.size() == ids_.size()) return;
  sorted_.clear();
  sorted_.reserve(ids_.size());
  for (const auto& [value, id] : ids_) {
    filter_[hash_of(value.data())] = 1;
    // In sorted order a value that begins this one is the last row or one of its parents.
    std::size_t parent = sorted_.size();
    while (parent > 0 && !value.starts_with(sorted_[parent - 1].value))
      parent = sorted_[parent - 1].parent;
    sorted_.push_back({value, id, parent});
  }
}

const KnownValues::Row* KnownValues::longest_at(std::string_view text, std::size_t at) const {
  const std::string_view rest = text.substr(at);
  const auto above = std::upper_bound(
      sorted_.begin(), sorted_.end(), rest, [](std::string_view left, const Row& row) {
        return left < row.value;
      });
  // Whatever begins `rest` is the greatest row not above it, or one of its parents.
  std::size_t row = static_cast<std::size_t>(above - sorted_.begin());
  while (row > 0 && !rest.starts_with(sorted_[row - 1].value))
    row = sorted_[row - 1].parent;
  return row > 0 ? &sorted_[row - 1] : nullptr;
}

}  // namespace respool
