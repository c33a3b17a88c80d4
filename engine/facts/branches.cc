#include "engine/facts/branches.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "engine/facts/merge_order.h"

namespace respool {
namespace {

struct Seen {
  std::string id;
  std::int64_t time_ms = 0;
  std::set<std::uint32_t> origins;
};

std::vector<Seen> seen_messages(const SessionFacts& facts) {
  std::vector<Seen> seen;
  for (const auto& ordered : message_order(facts)) {
    Seen one{*ordered.id, ordered.time_ms, {}};
    if (ordered.message->row)
      one.origins.insert(ordered.message->row->origins.begin(),
                         ordered.message->row->origins.end());
    for (const auto& [id, part] : ordered.message->parts)
      one.origins.insert(part.origins.begin(), part.origins.end());
    seen.push_back(std::move(one));
  }
  return seen;
}

// The time of the last message that both saw.
std::optional<std::int64_t> last_common_ms(const std::vector<Seen>& seen,
                                           std::uint32_t origin,
                                           std::uint32_t other) {
  std::optional<std::int64_t> last;
  for (const auto& message : seen) {
    if (message.origins.contains(origin) && message.origins.contains(other))
      last = std::max(last.value_or(message.time_ms), message.time_ms);
  }
  return last;
}

// The messages that `origin` saw and `other` did not, by time; those from `after` on, if given.
std::vector<const Seen*> only(const std::vector<Seen>& seen,
                              std::uint32_t origin,
                              std::uint32_t other,
                              std::optional<std::int64_t> after) {
  std::vector<const Seen*> messages;
  for (const auto& message : seen) {
    if (after && message.time_ms < *after) continue;
    if (message.origins.contains(origin) && !message.origins.contains(other))
      messages.push_back(&message);
  }
  return messages;
}

}  // namespace

std::vector<Branch> branches_of(const SessionFacts& facts) {
  const auto& origins = facts.session.origins;
  if (origins.size() < 2) return {};
  const auto seen = seen_messages(facts);
  std::map<std::uint32_t, Branch> branches;
  for (const auto origin : origins) {
    for (const auto other : origins) {
      if (origin == other) continue;
      const auto common = last_common_ms(seen, origin, other);
      const auto here = only(seen, origin, other, common);
      const auto there = only(seen, other, origin, common);
      if (here.empty() || there.empty()) continue;
      const bool apart = here.back()->time_ms > there.front()->time_ms &&
                         there.back()->time_ms > here.front()->time_ms;
      if (!apart) continue;
      auto& branch = branches[origin];
      branch.origin = origin;
      branch.latest_ms = std::max(branch.latest_ms, here.back()->time_ms);
      // Where they have nothing in common, this origin went on from the earlier ones.
      for (const auto* message : there) {
        if (common || message->time_ms >= here.front()->time_ms)
          branch.elsewhere.insert(message->id);
      }
    }
  }
  std::vector<Branch> list;
  for (auto& [origin, branch] : branches)
    list.push_back(std::move(branch));
  std::stable_sort(list.begin(), list.end(), [](const Branch& a, const Branch& b) {
    return a.latest_ms > b.latest_ms;
  });
  return list;
}

}  // namespace respool
