#pragma once

#include <cstdint>
#include <string_view>

#include "engine/facts/session_facts.h"

namespace respool {

// How a tool call ended. Only Completed ran to its end.
enum class ToolOutcome : std::uint8_t {
  Completed,
  Failed,    // ran into an error, or was called wrongly
  Withheld,  // the model called a tool it was not offered: nothing ran
  Refused,   // a person or a rule said no
  Aborted,   // stopped while it ran: it may have taken effect
  Orphaned,  // never ended, and the session went on: it may have taken effect
  Running,
  Unknown,  // a status this build does not know
};

std::string_view outcome_name(ToolOutcome outcome);

// True where a tool's error is OpenCode's word for a call that somebody or a rule refused.
bool says_refused(std::string_view error_text);

ToolOutcome tool_outcome(const SessionFacts& facts,
                         const std::string& message_id,
                         const MessageFacts& message,
                         const fb::PartRowT& part);

}  // namespace respool
