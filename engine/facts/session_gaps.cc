#include "engine/facts/session_gaps.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "schema/opencode/shape.h"

#include "engine/facts/branches.h"
#include "engine/facts/merge_order.h"
#include "engine/facts/outcome.h"
#include "engine/facts/step.h"

namespace respool {
namespace {

constexpr std::uint32_t bit(Shape shape) {
  return 1U << static_cast<unsigned>(shape);
}

// Only the live streams carry approvals, errors and retries.
constexpr std::uint32_t kLiveSources =
    bit(Shape::BusEvent) | bit(Shape::GlobalEvent) | bit(Shape::ApiEvent);

std::uint32_t all_sources(const SessionFacts& facts) {
  std::uint32_t sources = facts.session.sources;
  for (const auto& [id, message] : facts.messages) {
    if (message.row) sources |= message.row->sources;
    for (const auto& [part_id, part] : message.parts)
      sources |= part.sources;
  }
  for (const auto& [id, error] : facts.errors)
    sources |= error.sources;
  return sources;
}

bool is_user(const MessageFacts& message) {
  return message.row && is_live(*message.row) && message.row->role == "user";
}

// True where the prompt of an answer is here: as a message, or given beside the run.
bool has_prompt(const SessionFacts& facts, const OrderedMessage& ordered) {
  const auto& message = *ordered.message;
  if (is_user(message)) return true;
  if (message.row && is_live(*message.row)) {
    const auto parent = facts.messages.find(message.row->parent);
    return message.row->parent.empty() ||
           (parent != facts.messages.end() && is_user(parent->second));
  }
  const std::int64_t seen = first_seen_ms(message, ordered.time_ms);
  return std::any_of(facts.prompts.begin(), facts.prompts.end(), [&](const auto& entry) {
    return entry.second.time_ms.value_or(0) <= seen;
  });
}

void source_gaps(const SessionFacts& facts,
                 const std::vector<OrderedMessage>& order,
                 std::vector<Gap>& gaps) {
  const bool live = (all_sources(facts) & kLiveSources) != 0;
  bool has_tools = false;
  bool modelless = false;
  for (const auto& entry : order) {
    const auto& message = *entry.message;
    if (!is_user(message)) modelless |= !message.row || message.row->model.empty();
    for (const auto& [id, part] : message.parts)
      has_tools |= part.type == fb::PartType::Tool;
  }
  if (std::any_of(
          order.begin(), order.end(), [&](const auto& m) { return !has_prompt(facts, m); })) {
    gaps.push_back({GapKind::PromptNotInSource, "session", "answers whose prompt no source shows"});
  }
  if (modelless)
    gaps.push_back({GapKind::ModelNotInSource, "session", "messages whose model no source names"});
  if (!live && has_tools) {
    gaps.push_back({GapKind::PermissionsNotInSource,
                    "session",
                    "no source shows who approved the tool calls"});
  }
  if (!live && !order.empty()) {
    gaps.push_back(
        {GapKind::RetriesNotInSource, "session", "no source shows retries and what they hid"});
  }
}

// Steps that began, by a step-start part, and steps that ended.
bool run_step_is_open(const MessageFacts& message) {
  bool started = false;
  bool finished = false;
  for (const auto& [id, part] : message.parts) {
    started |= is_live(part) && part.type == fb::PartType::StepStart;
    finished |= is_live(part) && part.type == fb::PartType::StepFinish;
  }
  return started && !finished;
}

void turn_gaps(const std::vector<OrderedMessage>& order, std::vector<Gap>& gaps) {
  for (const auto& entry : order) {
    const auto& message = *entry.message;
    if (is_user(message) || (message.row && is_removed(*message.row))) continue;
    const bool live = message.row && is_live(*message.row);
    const bool open = live ? !message.row->completed_ms && message.row->error_name.empty() &&
                                 message.row->finish.empty()
                           : run_step_is_open(message);
    if (open) gaps.push_back({GapKind::UnfinishedTurn, *entry.id, "an answer that never ended"});
  }
  if (!order.empty() && is_user(*order.back().message) && !is_removed(*order.back().message->row)) {
    gaps.push_back({GapKind::UnfinishedTurn, *order.back().id, "a prompt without an answer"});
  }
}

void tool_gaps(const SessionFacts& facts,
               const std::vector<OrderedMessage>& order,
               std::vector<Gap>& gaps) {
  for (const auto& entry : order) {
    for (const auto* part : part_order(*entry.message, entry.time_ms)) {
      if (part->type != fb::PartType::Tool) continue;
      if (tool_outcome(facts, *entry.id, *entry.message, *part) == ToolOutcome::Orphaned) {
        gaps.push_back({GapKind::OrphanedTool,
                        part->id,
                        fmt::format("{} never ended; it may have taken effect", part->tool)});
      }
      if (!part->output_path.empty() && !facts.output_files.contains(part->output_path)) {
        gaps.push_back({GapKind::OutputFileMissing,
                        part->id,
                        "the whole output was saved to a file that was not captured"});
      }
    }
  }
}

// Where the steps and OpenCode's own sums differ, the steps count and this says so.
void usage_gaps(const SessionFacts& facts,
                const std::vector<OrderedMessage>& order,
                std::vector<Gap>& gaps) {
  std::int64_t visible_cost = 0;
  std::int64_t visible_tokens = 0;
  std::int64_t latest_moment = 0;
  for (const auto& entry : order) {
    const auto& message = *entry.message;
    const StepSum sum = sum_of_steps(message);
    if (sum.steps > 0 && total_of(sum.tokens) == 0) {
      gaps.push_back(
          {GapKind::ZeroUsage, *entry.id, "the provider reported no usage for this step"});
    }
    const auto step = step_of(facts, *entry.id, message);
    if (step) {
      visible_cost += step->usage->visible_cost_nanos;
      visible_tokens += step->usage->visible_input + step->usage->visible_output +
                        step->usage->visible_reasoning + step->usage->visible_cache_read +
                        step->usage->visible_cache_write;
    }
    for (const auto& [id, part] : message.parts) {
      if (is_live(part)) latest_moment = std::max(latest_moment, part.key.as_of_ms());
    }
    if (!message.row || !is_live(*message.row)) continue;
    latest_moment = std::max(latest_moment, message.row->key.as_of_ms());
    const bool says =
        message.row->has_tokens && (message.row->completed_ms || !message.row->finish.empty());
    const bool differs = !same_tokens(message.row->tokens, sum.tokens) ||
                         (message.row->cost_nanos && *message.row->cost_nanos != sum.cost_nanos);
    if (says && sum.steps > 0 && differs) {
      gaps.push_back({GapKind::UsageDisagrees,
                      *entry.id,
                      "the message's totals are not the sum of its steps"});
    }
  }
  const auto& session = facts.session;
  if (!session.from_state || session.key.as_of_ms() < latest_moment || !session.cost_nanos) return;
  // OpenCode sums floats: a hair of a nano-dollar a message is rounding.
  const std::int64_t slack = static_cast<std::int64_t>(order.size());
  const bool cost_differs = std::abs(*session.cost_nanos - visible_cost) > slack;
  const bool tokens_differ = session.has_tokens && total_of(session.tokens) != visible_tokens;
  if (cost_differs || tokens_differ) {
    gaps.push_back(
        {GapKind::UsageDisagrees, "session", "the session's totals are not the sum of its steps"});
  }
}

void conflict_gaps(const SessionFacts& facts, std::vector<Gap>& gaps) {
  const auto add = [&](const std::string& id) {
    gaps.push_back({GapKind::Conflict, id, "one event id came with two contents"});
  };
  if (facts.session.conflict) add(facts.session.id);
  for (const auto& [id, message] : facts.messages) {
    if (message.row && message.row->conflict) add(id);
    for (const auto& [part_id, part] : message.parts) {
      if (part.conflict) add(part_id);
    }
  }
}

void sequence_gaps(const SessionFacts& facts, std::vector<Gap>& gaps) {
  std::uint64_t expected = 0;
  for (const auto& range : facts.sequence.ranges) {
    if (range.first() > expected) {
      gaps.push_back({GapKind::SequenceGap,
                      fmt::format("seq {}..{}", expected, range.first() - 1),
                      "durable events that no source delivered"});
    }
    expected = range.last() + 1;
  }
}

bool ended_unseen(const fb::RunRowT& run) {
  return run.outcome == "aborted" || run.outcome.ends_with("_timeout") ||
         run.outcome == "truncated" || run.outcome == "failed" || run.outcome == "incomplete";
}

// A run that was ended, or that printed nothing, may have gone on where only OpenCode's database
// saw it: answers of its time that no run line and no event stream shows.
void run_gaps(const SessionFacts& facts, std::vector<Gap>& gaps) {
  const std::uint32_t watching = kLiveSources | bit(Shape::RunLine);
  for (const auto& [id, run] : facts.runs) {
    if (!run.started_ms || !ended_unseen(run)) continue;
    std::size_t unseen = 0;
    for (const auto& [message_id, message] : facts.messages) {
      if (!message.row || !is_live(*message.row) || message.row->role != "assistant") continue;
      const std::int64_t created = message.row->created_ms.value_or(0);
      if (created < *run.started_ms || created > run.ended_ms.value_or(created)) continue;
      std::uint32_t sources = message.row->sources;
      for (const auto& [part_id, part] : message.parts)
        sources |= part.sources;
      if ((sources & watching) == 0) ++unseen;
    }
    if (unseen == 0) continue;
    gaps.push_back(
        {GapKind::ExecutedUnobserved,
         id,
         fmt::format("the run ended as {}, and {} of its time nobody saw: tools may have run",
                     run.outcome,
                     unseen == 1 ? "an answer" : "answers")});
  }
}

void branch_gaps(const SessionFacts& facts, std::vector<Gap>& gaps) {
  const auto branches = branches_of(facts);
  if (branches.empty()) return;
  gaps.push_back({GapKind::Diverged,
                  facts.session.id,
                  fmt::format("{} stores recorded it going on apart", branches.size())});
}

void problem_gaps(const SessionFacts& facts, std::vector<Gap>& gaps) {
  for (const auto& [identity, problem] : facts.problems) {
    gaps.push_back({static_cast<GapKind>(problem.kind),
                    fmt::format("recording {} byte {}", problem.recording, problem.place),
                    problem.count == 1
                        ? problem.detail
                        : fmt::format("{} ({} times)", problem.detail, problem.count)});
  }
}

}  // namespace

std::vector<Gap> session_gaps(const SessionFacts& facts) {
  std::vector<Gap> gaps;
  const auto order = message_order(facts);
  source_gaps(facts, order, gaps);
  turn_gaps(order, gaps);
  tool_gaps(facts, order, gaps);
  usage_gaps(facts, order, gaps);
  conflict_gaps(facts, gaps);
  sequence_gaps(facts, gaps);
  run_gaps(facts, gaps);
  branch_gaps(facts, gaps);
  problem_gaps(facts, gaps);
  return gaps;
}

std::vector<std::string> named_children(const SessionFacts& facts) {
  std::set<std::string> children;
  for (const auto& [id, message] : facts.messages) {
    for (const auto& [part_id, part] : message.parts) {
      if (is_live(part) && !part.child_session.empty()) children.insert(part.child_session);
    }
  }
  return {children.begin(), children.end()};
}

}  // namespace respool
