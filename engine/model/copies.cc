#include "engine/model/copies.h"

#include <tuple>

#include "engine/storage/keys.h"

namespace respool {

std::optional<CopyGroup> group_of(const fb::StepRowT& step) {
  if (step.group_high == 0 && step.group_low == 0) return std::nullopt;
  return CopyGroup{step.group_high, step.group_low};
}

std::uint64_t owner_of(const CopyMembers& members) {
  const auto rank = [](const fb::CopyMemberT& member) {
    return std::tuple(
        member.older_than_session, member.session_created_ms, std::string_view(member.session));
  };
  auto least = members.begin();
  for (auto member = members.begin(); member != members.end(); ++member) {
    if (rank(member->second) < rank(least->second)) least = member;
  }
  return least == members.end() ? 0 : least->first.first;
}

bool is_copy(const StepId& id, const fb::CopyMemberT& member, std::uint64_t owner) {
  return member.older_than_session && id.first != owner;
}

Result<CopyMembers> load_members(const ReadView& view, Family model, const CopyGroup& group) {
  CopyMembers members;
  RowCursor rows = view.scan_prefix(model, keys::copy_group(group.first, group.second));
  for (; rows.valid(); rows.next()) {
    const auto key = keys::parse_copy_member(rows.key());
    if (!key)
      return Error(
          ErrorCode::Corruption, "model, copies: a key is too short", "run \"respool rebuild\"");
    RESPOOL_TRY(auto member, decode<fb::CopyMemberT>(rows.value(), "model, copies"));
    members.emplace(StepId{key->session.value, std::string(key->message)}, std::move(member));
  }
  RESPOOL_TRY(rows.finish());
  return members;
}

}  // namespace respool
