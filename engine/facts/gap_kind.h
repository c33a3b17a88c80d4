#pragma once

#include <cstdint>
#include <string_view>

namespace respool {

// What can be missing from a record, or wrong in it. Numbers reach the disk: only ever add.
enum class GapKind : std::uint8_t {
  PromptNotInSource = 1,
  ChildNotCaptured = 2,
  PermissionsNotInSource = 3,
  RetriesNotInSource = 4,
  ModelNotInSource = 5,
  UnfinishedTurn = 6,
  OrphanedTool = 7,
  ExecutedUnobserved = 8,
  OutputFileMissing = 9,
  SequenceGap = 10,
  UnknownType = 11,
  UnknownVariant = 12,
  Malformed = 13,
  Truncated = 14,
  IdentityMismatch = 15,
  Conflict = 16,
  Diverged = 17,
  ForeignSchema = 18,
  ZeroUsage = 19,
  UsageDisagrees = 20,
  CountIdentity = 21,
  OriginUnknown = 22,
  Undrained = 23,
  Lost = 24,
  Redacted = 25,
  Pruned = 26,
};

// The name `gaps` prints, such as "prompt_not_in_source".
std::string_view gap_kind_name(GapKind kind);

}  // namespace respool
