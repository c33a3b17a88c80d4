#include "engine/facts/outcome.h"

#include <algorithm>
#include <array>

#include "engine/facts/merge_order.h"

namespace respool {
namespace {

// OpenCode 1.1 to 1.18 say a refusal in these words only (there is no code for it).
constexpr auto kRefusals = std::to_array<std::string_view>({
    "The user rejected permission",
    "The user has specified a rule which prevents",
    "The user dismissed this question",
});

constexpr std::string_view kAbortError = "Tool execution aborted";

// The session went on after the call was last seen: a later message, the end of its own message,
// or the session's idle.
bool went_on(const SessionFacts& facts,
             const std::string& message_id,
             const MessageFacts& message,
             const fb::PartRowT& part) {
  if (message.row && (message.row->completed_ms || !message.row->error_name.empty())) return true;
  if (facts.session.idle_ms && *facts.session.idle_ms > part.key.as_of_ms()) return true;
  const auto time = message_time(facts, message_id, message);
  if (!time) return false;
  // Nothing of a run outlives it.
  const bool its_run_ended =
      std::any_of(facts.runs.begin(), facts.runs.end(), [&](const auto& entry) {
        const auto& run = entry.second;
        return run.started_ms && run.ended_ms && *run.started_ms <= *time && *time <= *run.ended_ms;
      });
  if (its_run_ended) return true;
  return std::any_of(facts.messages.begin(), facts.messages.end(), [&](const auto& entry) {
    // A prompt may wait in the queue while the tool still runs: only an answer shows that it ended.
    if (entry.first == message_id || (entry.second.row && entry.second.row->role == "user"))
      return false;
    const auto other = message_time(facts, entry.first, entry.second);
    return other && *other > *time;
  });
}

ToolOutcome error_outcome(const fb::PartRowT& part) {
  if (says_refused(part.error_text)) return ToolOutcome::Refused;
  return part.error_text.starts_with(kAbortError) ? ToolOutcome::Aborted : ToolOutcome::Failed;
}

}  // namespace

bool says_refused(std::string_view error_text) {
  return std::any_of(kRefusals.begin(), kRefusals.end(), [&](std::string_view refusal) {
    return error_text.find(refusal) != std::string_view::npos;
  });
}

std::string_view outcome_name(ToolOutcome outcome) {
  switch (outcome) {
    case ToolOutcome::Completed:
      return "completed";
    case ToolOutcome::Failed:
      return "failed";
    case ToolOutcome::Withheld:
      return "withheld";
    case ToolOutcome::Refused:
      return "refused";
    case ToolOutcome::Aborted:
      return "aborted";
    case ToolOutcome::Orphaned:
      return "orphaned";
    case ToolOutcome::Running:
      return "running";
    case ToolOutcome::Unknown:
      return "unknown";
  }
  return "unknown";
}

ToolOutcome tool_outcome(const SessionFacts& facts,
                         const std::string& message_id,
                         const MessageFacts& message,
                         const fb::PartRowT& part) {
  switch (part.status) {
    case fb::ToolStatus::Completed:
      if (part.tool == "invalid") return ToolOutcome::Withheld;
      return part.aborted || part.exit_state == fb::ExitState::Null ? ToolOutcome::Aborted
                                                                    : ToolOutcome::Completed;
    case fb::ToolStatus::Error:
      return error_outcome(part);
    case fb::ToolStatus::Pending:
    case fb::ToolStatus::Running:
      return went_on(facts, message_id, message, part) ? ToolOutcome::Orphaned
                                                       : ToolOutcome::Running;
    case fb::ToolStatus::Unknown:
      return ToolOutcome::Unknown;
  }
  return ToolOutcome::Unknown;
}

}  // namespace respool
