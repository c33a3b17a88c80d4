#include "engine/facts/gap_kind.h"

namespace respool {

std::string_view gap_kind_name(GapKind kind) {
  switch (kind) {
    case GapKind::PromptNotInSource:
      return "prompt_not_in_source";
    case GapKind::ChildNotCaptured:
      return "child_not_captured";
    case GapKind::PermissionsNotInSource:
      return "permissions_not_in_source";
    case GapKind::RetriesNotInSource:
      return "retries_not_in_source";
    case GapKind::ModelNotInSource:
      return "model_not_in_source";
    case GapKind::UnfinishedTurn:
      return "unfinished_turn";
    case GapKind::OrphanedTool:
      return "orphaned_tool";
    case GapKind::ExecutedUnobserved:
      return "executed_unobserved";
    case GapKind::OutputFileMissing:
      return "output_file_missing";
    case GapKind::SequenceGap:
      return "sequence_gap";
    case GapKind::UnknownType:
      return "unknown_type";
    case GapKind::UnknownVariant:
      return "unknown_variant";
    case GapKind::Malformed:
      return "malformed";
    case GapKind::Truncated:
      return "truncated";
    case GapKind::IdentityMismatch:
      return "identity_mismatch";
    case GapKind::Conflict:
      return "conflict";
    case GapKind::Diverged:
      return "diverged";
    case GapKind::ForeignSchema:
      return "foreign_schema";
    case GapKind::ZeroUsage:
      return "zero_usage";
    case GapKind::UsageDisagrees:
      return "usage_disagrees";
    case GapKind::CountIdentity:
      return "count_identity";
    case GapKind::OriginUnknown:
      return "origin_unknown";
    case GapKind::Undrained:
      return "undrained";
    case GapKind::Lost:
      return "lost";
    case GapKind::Redacted:
      return "redacted";
    case GapKind::Pruned:
      return "pruned";
  }
  return "unknown";
}

}  // namespace respool
