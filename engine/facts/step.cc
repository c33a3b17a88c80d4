#include "engine/facts/step.h"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "schema/digest.h"

#include "engine/facts/merge_order.h"

namespace respool {
namespace {

using Field = std::int64_t fb::UsageRowT::*;
constexpr auto kUsageFields = std::to_array<Field>({
    &fb::UsageRowT::steps,
    &fb::UsageRowT::input,
    &fb::UsageRowT::output,
    &fb::UsageRowT::reasoning,
    &fb::UsageRowT::cache_read,
    &fb::UsageRowT::cache_write,
    &fb::UsageRowT::cost_nanos,
    &fb::UsageRowT::visible_steps,
    &fb::UsageRowT::visible_input,
    &fb::UsageRowT::visible_output,
    &fb::UsageRowT::visible_reasoning,
    &fb::UsageRowT::visible_cache_read,
    &fb::UsageRowT::visible_cache_write,
    &fb::UsageRowT::visible_cost_nanos,
    &fb::UsageRowT::copied_steps,
    &fb::UsageRowT::removed_steps,
    &fb::UsageRowT::unpriced_steps,
});

// Adds one step: what was spent always, what is visible unless it was removed.
void add_step(fb::UsageRowT& usage,
              const fb::TokenCounts& tokens,
              std::int64_t cost_nanos,
              bool removed) {
  fb::UsageRowT step;
  step.steps = 1;
  step.input = tokens.input();
  step.output = tokens.output();
  step.reasoning = tokens.reasoning();
  step.cache_read = tokens.cache_read();
  step.cache_write = tokens.cache_write();
  step.cost_nanos = cost_nanos;
  step.removed_steps = removed ? 1 : 0;
  step.unpriced_steps = cost_nanos == 0 && total_of(tokens) > 0 ? 1 : 0;
  if (!removed) {
    step.visible_steps = 1;
    step.visible_input = step.input;
    step.visible_output = step.output;
    step.visible_reasoning = step.reasoning;
    step.visible_cache_read = step.cache_read;
    step.visible_cache_write = step.cache_write;
    step.visible_cost_nanos = cost_nanos;
  }
  add_usage(usage, step);
}

bool carries_usage(const fb::PartRowT& part) {
  return is_live(part) && part.type == fb::PartType::StepFinish && part.has_tokens;
}

// The message's own totals count where no step-finish part carries any, once it has ended.
bool own_totals_count(const MessageFacts& message) {
  if (!message.row || !is_live(*message.row) || message.row->role != "assistant" ||
      !message.row->has_tokens)
    return false;
  const bool spent = total_of(message.row->tokens) > 0 || message.row->cost_nanos.value_or(0) > 0;
  const bool has_finish_part =
      std::any_of(message.parts.begin(), message.parts.end(), [](const auto& entry) {
        return is_live(entry.second) && entry.second.type == fb::PartType::StepFinish;
      });
  return spent || has_finish_part || !message.row->finish.empty();
}

std::string tools_of(const MessageFacts& message) {
  std::set<std::string> tools;
  for (const auto& [id, part] : message.parts) {
    if (is_live(part) && part.type == fb::PartType::Tool) tools.insert(part.tool);
  }
  return fmt::format("{}", fmt::join(tools, ","));
}

// Dimensions of totals are kept apart by NUL, which no real name has.
std::string without_separator(std::string name) {
  std::replace(name.begin(), name.end(), '\0', ' ');
  return name;
}

// Copies carry equal times, model, tokens and cost; without a time of creation nothing is a copy.
void set_copy_group(const SessionFacts& facts, const MessageFacts& message, fb::StepRowT& step) {
  if (!message.row || !message.row->created_ms) return;
  const auto& row = *message.row;
  const auto& usage = *step.usage;
  const std::string content = fmt::format("{}|{}|{}|{}|{}|{}|{}|{}|{}|{}",
                                          *row.created_ms,
                                          row.completed_ms.value_or(0),
                                          row.provider,
                                          row.model,
                                          usage.input,
                                          usage.output,
                                          usage.reasoning,
                                          usage.cache_read,
                                          usage.cache_write,
                                          usage.cost_nanos);
  step.group_high = content_hash(content, 1) | 1;  // never 0, 0
  step.group_low = content_hash(content, 2);
  step.older_than_session = facts.session.created_ms && *row.created_ms < *facts.session.created_ms;
}

}  // namespace

void add_usage(fb::UsageRowT& sum, const fb::UsageRowT& term, std::int64_t sign) {
  for (const Field field : kUsageFields)
    sum.*field += sign * term.*field;
}

const std::string& agent_of(const fb::MessageRowT& row) {
  return row.agent.empty() ? row.mode : row.agent;
}

bool is_zero(const fb::UsageRowT& usage) {
  return std::all_of(
      kUsageFields.begin(), kUsageFields.end(), [&](Field field) { return usage.*field == 0; });
}

fb::UsageRowT contribution(const fb::StepRowT& step) {
  if (!step.copied) return *step.usage;
  fb::UsageRowT copy;
  copy.copied_steps = step.usage->steps;
  return copy;
}

std::int64_t total_of(const fb::TokenCounts& tokens) {
  return tokens.input() + tokens.output() + tokens.reasoning() + tokens.cache_read() +
         tokens.cache_write();
}

bool same_tokens(const fb::TokenCounts& a, const fb::TokenCounts& b) {
  return a.input() == b.input() && a.output() == b.output() && a.reasoning() == b.reasoning() &&
         a.cache_read() == b.cache_read() && a.cache_write() == b.cache_write();
}

StepSum sum_of_steps(const MessageFacts& message) {
  StepSum sum;
  for (const auto& [id, part] : message.parts) {
    if (!carries_usage(part)) continue;
    const auto& tokens = part.tokens;
    ++sum.steps;
    sum.cost_nanos += part.cost_nanos.value_or(0);
    sum.tokens = fb::TokenCounts(sum.tokens.input() + tokens.input(),
                                 sum.tokens.output() + tokens.output(),
                                 sum.tokens.reasoning() + tokens.reasoning(),
                                 sum.tokens.cache_read() + tokens.cache_read(),
                                 sum.tokens.cache_write() + tokens.cache_write());
  }
  return sum;
}

std::optional<fb::StepRowT> step_of(const SessionFacts& facts,
                                    const std::string& message_id,
                                    const MessageFacts& message) {
  fb::StepRowT step;
  step.usage = std::make_unique<fb::UsageRowT>();
  for (const auto& [id, part] : message.parts) {
    if (!carries_usage(part)) continue;
    add_step(*step.usage,
             part.tokens,
             part.cost_nanos.value_or(0),
             part_is_removed(facts, message, part));
  }
  if (step.usage->steps == 0 && own_totals_count(message)) {
    const bool removed = is_removed(*message.row) || is_removed(facts.session);
    add_step(*step.usage, message.row->tokens, message.row->cost_nanos.value_or(0), removed);
  }
  if (step.usage->steps == 0) return std::nullopt;

  step.message = message_id;
  step.time_ms = message_time(facts, message_id, message).value_or(0);
  if (message.row) {
    step.provider = without_separator(message.row->provider);
    step.model = without_separator(message.row->model);
    step.agent = without_separator(agent_of(*message.row));
  }
  step.tools = without_separator(tools_of(message));
  if (is_own_copy(facts, message_id)) {
    step.own_copy = step.copied = true;
  } else {
    set_copy_group(facts, message, step);
  }
  return step;
}

std::optional<std::int64_t> context_tokens(const SessionFacts& facts) {
  const auto order = message_order(facts);
  for (auto at = order.rbegin(); at != order.rend(); ++at) {
    const auto& message = *at->message;
    if (message.row && is_removed(*message.row)) continue;
    const fb::PartRowT* last = nullptr;
    for (const auto* part : part_order(message, at->time_ms)) {
      if (carries_usage(*part) && !is_removed(*part)) last = part;
    }
    const bool own = last == nullptr && own_totals_count(message);
    if (last == nullptr && !own) continue;
    const auto& tokens = own ? message.row->tokens : last->tokens;
    return tokens.input() + tokens.cache_read() + tokens.cache_write();
  }
  return std::nullopt;
}

}  // namespace respool
