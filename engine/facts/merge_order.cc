#include "engine/facts/merge_order.h"

#include <algorithm>
#include <cstdlib>
#include <tuple>

#include "schema/opencode/id_time.h"

namespace respool {
namespace {

constexpr std::int64_t kDayMs = 86'400'000;

// The earliest time any part of the message states.
std::optional<std::int64_t> earliest_part_time(const MessageFacts& message) {
  std::optional<std::int64_t> earliest;
  const auto see = [&](const auto& time) {
    if (time && (!earliest || *time < *earliest)) earliest = *time;
  };
  for (const auto& [id, part] : message.parts) {
    if (!is_live(part)) continue;
    see(part.start_ms);
    see(part.line_ms);
    if (!part.start_ms && !part.line_ms && part.key.as_of_ms() != 0)
      see(std::optional(part.key.as_of_ms()));
  }
  return earliest;
}

bool has_live_parts(const MessageFacts& message) {
  return std::any_of(message.parts.begin(), message.parts.end(), [](const auto& entry) {
    return is_live(entry.second);
  });
}

// A message's place: its time, lifted to its prompt's where that is later.
std::int64_t effective_time(const SessionFacts& facts, const OrderedMessage& message) {
  if (!message.message->row || message.message->row->parent.empty()) return message.time_ms;
  const auto parent = facts.messages.find(message.message->row->parent);
  if (parent == facts.messages.end()) return message.time_ms;
  const auto parent_time = message_time(facts, parent->first, parent->second);
  return std::max(message.time_ms, parent_time.value_or(message.time_ms));
}

std::int64_t id_order(const std::string& id, std::int64_t hint_ms) {
  const auto time = id_time(id);
  if (!time) return 0;
  constexpr std::int64_t kCounters = 4096;
  return resolve_id_time(*time, hint_ms) * kCounters + time->counter();
}

// OpenCode's own "continue" after a compaction: a run stream shows it without a role.
bool is_continuation(const MessageFacts& message) {
  return std::any_of(message.parts.begin(), message.parts.end(), [](const auto& part) {
    return part.second.continuation;
  });
}

}  // namespace

std::optional<std::int64_t> message_time(const SessionFacts& facts,
                                         const std::string& id,
                                         const MessageFacts& message) {
  if (message.row && message.row->created_ms) return *message.row->created_ms;
  auto hint = earliest_part_time(message);
  if (!hint && facts.session.first_ms) hint = *facts.session.first_ms;
  if (!hint) return std::nullopt;
  // An id's time is exact where OpenCode made it, and meaningless where a client did.
  const auto time = id_time(id);
  if (!time) return hint;
  const std::int64_t from_id = resolve_id_time(*time, *hint);
  return std::llabs(from_id - *hint) < kDayMs ? from_id : *hint;
}

std::vector<OrderedMessage> message_order(const SessionFacts& facts) {
  struct Keyed {
    std::tuple<std::int64_t, bool, std::int64_t, std::string_view> key;
    OrderedMessage message;
  };
  std::vector<Keyed> keyed;
  keyed.reserve(facts.messages.size());
  for (const auto& [id, message] : facts.messages) {
    const bool live = message.row && is_live(*message.row);
    if (!live && !has_live_parts(message)) continue;
    OrderedMessage ordered{&id, &message, message_time(facts, id, message).value_or(0), false};
    ordered.assistant = live ? message.row->role != "user" : !is_continuation(message);
    const std::int64_t effective = effective_time(facts, ordered);
    keyed.push_back({{effective, ordered.assistant, id_order(id, effective), id}, ordered});
  }
  std::sort(
      keyed.begin(), keyed.end(), [](const Keyed& a, const Keyed& b) { return a.key < b.key; });
  std::vector<OrderedMessage> order;
  order.reserve(keyed.size());
  for (const auto& entry : keyed)
    order.push_back(entry.message);
  return order;
}

std::int64_t first_seen_ms(const MessageFacts& message, std::int64_t otherwise) {
  std::optional<std::int64_t> first;
  for (const auto& [id, part] : message.parts) {
    if (part.line_ms && (!first || *part.line_ms < *first)) first = *part.line_ms;
  }
  return first.value_or(otherwise);
}

bool prompt_is_known(const SessionFacts& facts, std::int64_t run_ms) {
  for (const auto& ordered : message_order(facts)) {
    if (!ordered.assistant || first_seen_ms(*ordered.message, ordered.time_ms) < run_ms) continue;
    // The run's first answer.
    if (!ordered.message->row || !is_live(*ordered.message->row)) return false;
    const auto parent = facts.messages.find(ordered.message->row->parent);
    return parent != facts.messages.end() && parent->second.row && is_live(*parent->second.row);
  }
  return false;
}

std::vector<const fb::PartRowT*> part_order(const MessageFacts& message,
                                            std::int64_t message_time_ms) {
  std::vector<std::tuple<std::int64_t, std::string_view, const fb::PartRowT*>> keyed;
  for (const auto& [id, part] : message.parts) {
    if (is_live(part)) keyed.emplace_back(id_order(id, message_time_ms), id, &part);
  }
  std::sort(keyed.begin(), keyed.end());
  std::vector<const fb::PartRowT*> order;
  for (const auto& entry : keyed)
    order.push_back(std::get<2>(entry));
  return order;
}

}  // namespace respool
