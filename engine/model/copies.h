#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "engine/model/model_rows.h"

namespace respool {

// Steps with equal times, model, tokens and cost form a group; a fork copies them verbatim.
using CopyGroup = std::pair<std::uint64_t, std::uint64_t>;
// (session number, message id)
using StepId = std::pair<std::uint64_t, std::string>;
using CopyMembers = std::map<StepId, fb::CopyMemberT>;

// The group a step may be a copy in, nothing where it cannot be one.
std::optional<CopyGroup> group_of(const fb::StepRowT& step);

// The session that owns the group's spending: of the members not older than their session the one
// whose (session created, id) is least, and where there is none, the least of all.
std::uint64_t owner_of(const CopyMembers& members);

// True where this member's spending is counted with the owner.
bool is_copy(const StepId& id, const fb::CopyMemberT& member, std::uint64_t owner);

Result<CopyMembers> load_members(const ReadView& view, Family model, const CopyGroup& group);

}  // namespace respool
