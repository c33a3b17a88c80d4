#pragma once

#include <string>
#include <vector>

#include "query/replay/left_out.h"
#include "query/views/transcript.h"

namespace respool {

// How much of a message a replay shows. Each is smaller than the one before.
enum class Fidelity : std::uint8_t {
  Verbatim,  // everything
  Elided,    // long tool inputs and outputs by size and digest, with their beginning and end
  TextOnly,  // what was said; tool calls are counted
  OneLine,   // the beginning of what was said
};
std::string_view fidelity_name(Fidelity fidelity);

// What stands together under one line of the replay: a message, or a prompt that has none.
struct ReplayMessage {
  std::vector<const TranscriptItem*> items;  // never empty
  const TranscriptItem& first() const { return *items.front(); }
  bool is_prompt() const { return first().role == "user" && !first().synthetic; }
};

// True for a tool call that was cut off: nobody knows how far it got.
bool may_have_taken_effect(const TranscriptItem& item);

// The message as text.
std::string render_message(const ReplayMessage& message, Fidelity fidelity);

// What of the message that fidelity does not show.
void list_left_out(const ReplayMessage& message, Fidelity fidelity, std::vector<LeftOut>& list);

}  // namespace respool
