#include "engine/facts/session_facts.h"

#include "schema/opencode/id_time.h"

namespace respool {
namespace {

// A removal wins from the moment of the best observation on. Both are compared as the 48 bits of
// an event id, which works across the wrap for moments less than a year apart.
template <class Row>
bool removal_wins(const Row& row) {
  if (row.removed_at == 0) return false;
  if (!is_live(row)) return true;
  const auto seen = id_bits_at(row.key.as_of_ms(), row.key.as_of_counter());
  return id_time_difference(row.removed_at, seen) >= 0;
}

}  // namespace

std::string part_identity(std::string_view message, std::string_view part) {
  std::string identity(message);
  identity.push_back('\0');
  identity += part;
  return identity;
}

bool is_own_copy(const SessionFacts& facts, const std::string& message) {
  return facts.own_copies.contains(message);
}

void note_own_copies(SessionFacts& facts, const fb::ReplayRowT& replay) {
  if (replay.to_session != facts.name.text) return;
  for (std::size_t i = 1; i < replay.messages.size(); i += 2)
    facts.own_copies.insert(replay.messages[i]);
}

bool is_removed(const fb::SessionRowT& row) {
  return removal_wins(row);
}
bool is_removed(const fb::MessageRowT& row) {
  return removal_wins(row);
}
bool is_removed(const fb::PartRowT& row) {
  return removal_wins(row);
}

bool part_is_removed(const SessionFacts& facts,
                     const MessageFacts& message,
                     const fb::PartRowT& part) {
  return is_removed(part) || (message.row && is_removed(*message.row)) || is_removed(facts.session);
}

}  // namespace respool
