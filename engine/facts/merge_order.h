#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/facts/session_facts.h"

namespace respool {

// When a message was made: its own time, else what its id and its parts' times say, else nothing.
std::optional<std::int64_t> message_time(const SessionFacts& facts,
                                         const std::string& id,
                                         const MessageFacts& message);

struct OrderedMessage {
  const std::string* id = nullptr;
  const MessageFacts* message = nullptr;
  std::int64_t time_ms = 0;
  bool assistant = false;
};

// The messages of a session as a reader should see them: by time, then by id with the wrap
// resolved, an answer never before its prompt. Messages known only by their removal are left out.
std::vector<OrderedMessage> message_order(const SessionFacts& facts);

// When a message's first run line came; `otherwise` where none showed it. A prompt that was given
// beside a run carries the time of its first line.
std::int64_t first_seen_ms(const MessageFacts& message, std::int64_t otherwise);

// True where a source shows the user's message that the run which began at `run_ms` answered.
bool prompt_is_known(const SessionFacts& facts, std::int64_t run_ms);

// The parts of a message in the order they were made.
std::vector<const fb::PartRowT*> part_order(const MessageFacts& message,
                                            std::int64_t message_time_ms);

}  // namespace respool
