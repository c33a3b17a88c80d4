#include "engine/facts/branches.h"

#include <algorithm>
#include <map>
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

// The messages that `origin` saw and `other` did not, by time.
std::vector<const Seen*> only(const std::vector<Seen>& seen,
                              std::uint32_t origin,
                              std::uint32_t other) {
  std::vector<const Seen*> messages;
  for (const auto& message : seen) {
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
      const auto here = only(seen, origin, other);
      const auto there = only(seen, other, origin);
      if (here.empty() || there.empty()) continue;
      const bool apart = here.back()->time_ms > there.front()->time_ms &&
                         there.back()->time_ms > here.front()->time_ms;
      if (!apart) continue;
      auto& branch = branches[origin];
      branch.origin = origin;
      branch.latest_ms = std::max(branch.latest_ms, here.back()->time_ms);
      // Earlier ones this origin had too: it went on from them.
      for (const auto* message : there) {
        if (message->time_ms >= here.front()->time_ms) branch.elsewhere.insert(message->id);
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
