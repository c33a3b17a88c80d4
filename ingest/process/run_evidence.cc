#include "ingest/process/run_evidence.h"

#include <algorithm>
#include <csignal>

#include <fmt/format.h>

#include "schema/opencode/plain_text.h"

#include "engine/facts/outcome.h"

namespace respool {
namespace {

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(), [](unsigned char c) {
    return static_cast<char>(std::tolower(c));
  });
  return result;
}

}  // namespace

void RunEvidence::line(const Record& record) {
  ++lines_;
  if (session_.empty()) session_ = record.session;
  if (const auto* error = std::get_if<ErrorBody>(&record.body)) {
    error_name_ = error->name;
    error_text_ = plain_text(error->text);
    error_is_last_ = true;
  }
  if (const auto* row = std::get_if<fb::PartRowT>(&record.body)) part(*row);
}

void RunEvidence::part(const fb::PartRowT& row) {
  if (row.type == fb::PartType::StepStart) {
    restarted_ |= !open_.insert(row.message).second;
  } else if (row.type == fb::PartType::StepFinish) {
    open_.erase(row.message);
    last_finish_ = row.reason;
    error_is_last_ = false;
  } else if (row.type == fb::PartType::Tool) {
    const bool withheld = row.tool == "invalid";
    withheld_ = withheld ? withheld_ + 1 : 0;
    refused_ = row.status == fb::ToolStatus::Error && says_refused(row.error_text);
  } else if (row.type == fb::PartType::Text && row.continuation) {
    ++compactions_;
  }
}

void RunEvidence::stderr_line(std::string_view plain) {
  const std::string text = lower(plain);
  not_found_ |= text.find("session not found") != std::string::npos ||
                text.find("no such session") != std::string::npos;
}

RunEvidence::Verdict RunEvidence::verdict(StopReason stop,
                                          std::optional<int> exit,
                                          int signal,
                                          bool resumed) const {
  switch (stop) {
    case StopReason::Interrupted:
      return {"aborted", "it was interrupted"};
    case StopReason::StartupTimeout:
      return {"startup_timeout", "OpenCode printed nothing"};
    case StopReason::IdleTimeout:
      return {"idle_timeout", "OpenCode printed nothing more"};
    case StopReason::TurnTimeout:
      return {"turn_timeout", "the turn took too long"};
    case StopReason::Withheld:
      return {"blocked",
              fmt::format("the model called withheld tools {} times in a row", withheld_)};
    case StopReason::Compactions:
      return {"incomplete", fmt::format("the context was compacted {} times", compactions_)};
    case StopReason::None:
      break;
  }
  if (resumed && lines_ == 0 && not_found_ && exit.value_or(0) != 0)
    return {"resume_dead", "OpenCode does not have the session any more"};
  return by_end(exit, signal);
}

RunEvidence::Verdict RunEvidence::by_end(std::optional<int> exit, int signal) const {
  if (!exit) {
    const bool asked =
        signal == SIGINT || signal == SIGTERM || signal == SIGKILL || signal == SIGHUP;
    return {asked ? "aborted" : "failed", fmt::format("OpenCode died of signal {}", signal)};
  }
  if (error_is_last_) return {"failed", fmt::format("{}: {}", error_name_, error_text_)};
  const bool had_error = !error_name_.empty();
  if (*exit != 0 && !(had_error && last_finish_ == "stop"))
    return {"failed", fmt::format("OpenCode ended with exit code {}", *exit)};
  return by_lines();
}

RunEvidence::Verdict RunEvidence::by_lines() const {
  if (last_finish_.empty()) return {"truncated", "no step ended"};
  if (!open_.empty()) return {"truncated", "the last step did not end"};
  if (last_finish_ == "stop") {
    const bool retried = !error_name_.empty() || restarted_;
    return {retried ? "retried_and_completed" : "completed", ""};
  }
  if (last_finish_ == "tool-calls" && refused_) return {"blocked", "a tool call was refused"};
  return {"incomplete", fmt::format("the last step ended with \"{}\"", last_finish_)};
}

}  // namespace respool
