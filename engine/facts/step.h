#pragma once

#include <optional>
#include <string>

#include "engine/facts/session_facts.h"

namespace respool {

// What one message spent, by its step-finish parts; where those carry no usage, by its own totals.
// Nothing for messages that spent nothing. Whether it is a copy is not known here.
std::optional<fb::StepRowT> step_of(const SessionFacts& facts,
                                    const std::string& message_id,
                                    const MessageFacts& message);

// The sum of the step-finish parts that carry usage, removed or not.
struct StepSum {
  std::int64_t steps = 0;
  fb::TokenCounts tokens;
  std::int64_t cost_nanos = 0;
};
StepSum sum_of_steps(const MessageFacts& message);

std::int64_t total_of(const fb::TokenCounts& tokens);
bool same_tokens(const fb::TokenCounts& a, const fb::TokenCounts& b);

// Tokens the model had before it when it made its last answer: input and both caches.
std::optional<std::int64_t> context_tokens(const SessionFacts& facts);

// What a step adds to totals: its usage, or one copied step for each of its steps.
fb::UsageRowT contribution(const fb::StepRowT& step);

// The agent a message was answered by; older versions call it the mode.
const std::string& agent_of(const fb::MessageRowT& row);

void add_usage(fb::UsageRowT& sum, const fb::UsageRowT& term, std::int64_t sign = 1);
bool is_zero(const fb::UsageRowT& usage);

}  // namespace respool
