#include "query/views/activity_view.h"

#include <algorithm>
#include <cstdlib>

#include "engine/facts/merge_order.h"
#include "engine/facts/step.h"

namespace respool {
namespace {

std::optional<std::int64_t> time_of(const fb::PartRowT& part, std::int64_t message_ms) {
  if (part.start_ms) return *part.start_ms;
  if (message_ms == 0) return std::nullopt;
  return message_ms;
}

bool message_matches(const Filter& filter, const MessageFacts& message) {
  if (!message.row) return filter.model.empty() && filter.agent.empty();
  return model_matches(filter, message.row->provider, message.row->model) &&
         agent_matches(filter, agent_of(*message.row));
}

// Visits the parts of the selected sessions in reading order.
template <class Visit>
Result<void> each_part(const StoreReader& reader,
                       const Filter& filter,
                       const std::string& here,
                       Visit&& visit) {
  RESPOOL_TRY(const auto selected, select_sessions(reader, filter, here));
  for (const auto& entry : selected) {
    RESPOOL_TRY(const auto facts, reader.facts(entry.number));
    for (const auto& ordered : message_order(facts)) {
      if (!message_matches(filter, *ordered.message)) continue;
      for (const auto* part : part_order(*ordered.message, ordered.time_ms)) {
        if (filter.at(time_of(*part, ordered.time_ms))) visit(facts, ordered, *part);
      }
    }
  }
  return ok();
}

// A refusal on standard error has no id. Where an event stream shows a request of the same
// permission at that time, it is that one.
bool is_told_better(const SessionFacts& facts, const fb::AskRowT& ask) {
  if (ask.by != "run") return false;
  constexpr std::int64_t kNearMs = 10'000;
  return std::any_of(facts.asks.begin(), facts.asks.end(), [&](const auto& entry) {
    const auto& other = entry.second;
    return other.by.empty() && other.permission == ask.permission &&
           std::abs(other.asked_ms.value_or(0) - ask.asked_ms.value_or(0)) <= kNearMs;
  });
}

}  // namespace

Result<std::vector<ToolLine>> list_tools(const StoreReader& reader,
                                         const Filter& filter,
                                         const std::string& tool,
                                         const std::string& outcome,
                                         const std::string& here) {
  std::vector<ToolLine> lines;
  RESPOOL_TRY(each_part(
      reader,
      filter,
      here,
      [&](const SessionFacts& facts, const OrderedMessage& ordered, const fb::PartRowT& part) {
        if (part.type != fb::PartType::Tool || lines.size() >= filter.limit) return;
        if (!tool.empty() && part.tool != tool && part.attempted != tool) return;
        const ToolOutcome ended = tool_outcome(facts, *ordered.id, *ordered.message, part);
        if (!outcome.empty() && outcome_name(ended) != outcome) return;
        lines.push_back({facts.session.id, *ordered.id, ended, part});
      }));
  return lines;
}

Result<std::vector<FileLine>> list_files(const StoreReader& reader,
                                         const Filter& filter,
                                         const std::string& here) {
  std::vector<FileLine> lines;
  RESPOOL_TRY(each_part(
      reader,
      filter,
      here,
      [&](const SessionFacts& facts, const OrderedMessage& ordered, const fb::PartRowT& part) {
        for (const auto& touched : part.files) {
          if (lines.size() >= filter.limit) return;
          FileLine line;
          line.session = facts.session.id;
          line.path = touched->path;
          line.action = touched->action;
          line.tool = part.tool;
          line.call = part.call;
          line.time_ms = time_of(part, ordered.time_ms);
          if (part.type == fb::PartType::Tool)
            line.outcome = tool_outcome(facts, *ordered.id, *ordered.message, part);
          lines.push_back(std::move(line));
        }
      }));
  return lines;
}

Result<std::vector<PermissionLine>> list_permissions(const StoreReader& reader,
                                                     const Filter& filter,
                                                     const std::string& here) {
  RESPOOL_TRY(const auto selected, select_sessions(reader, filter, here));
  std::vector<PermissionLine> lines;
  for (const auto& entry : selected) {
    RESPOOL_TRY(const auto facts, reader.facts(entry.number));
    for (const auto& [id, ask] : facts.asks) {
      std::optional<std::int64_t> time;
      if (ask.asked_ms) time = *ask.asked_ms;
      if (!filter.at(time) || is_told_better(facts, ask)) continue;
      lines.push_back({facts.session.id, ask});
    }
  }
  std::stable_sort(lines.begin(), lines.end(), [](const auto& a, const auto& b) {
    return a.ask.asked_ms.value_or(0) < b.ask.asked_ms.value_or(0);
  });
  if (lines.size() > filter.limit) lines.resize(filter.limit);
  return lines;
}

}  // namespace respool
