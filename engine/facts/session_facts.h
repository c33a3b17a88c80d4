#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "schema/codec.h"
#include "schema/ids.h"

namespace respool {

// A message and its parts. The row may be absent: a run stream shows parts only.
struct MessageFacts {
  std::optional<fb::MessageRowT> row;
  std::map<std::string, fb::PartRowT> parts;
};

// The kinds of rows a session has in the model's table of facts. Letters reach the disk.
enum class FactKind : char {
  Message = 'm',
  Part = 'p',
  Ask = 'a',
  Command = 'c',
  Error = 'e',
  Prompt = 'u',
  Run = 'r',
  Problem = 'x',
  Sequence = 'q',
  Binding = 'b',
  OutputFile = 'f',
  Replay = 'y',
};

// All facts of one session, in memory: what the fold writes and every question reads. The same
// whether loaded from the model or folded from the log up to a point.
//
// Threads: one thread at a time.
struct SessionFacts {
  SessionNumber number;
  StreamName name;

  fb::SessionRowT session;
  std::map<std::string, MessageFacts> messages;
  std::map<std::string, fb::AskRowT> asks;
  std::map<std::string, fb::CommandRowT> commands;  // by message id
  std::map<std::string, fb::ErrorRowT> errors;
  std::map<std::string, fb::PromptRowT> prompts;
  std::map<std::string, fb::RunRowT> runs;
  std::map<std::string, fb::ProblemRowT> problems;
  std::map<std::string, fb::BindingRowT> bindings;         // by host and directory
  std::map<std::string, fb::OutputFileRowT> output_files;  // by path
  std::map<std::string, fb::ReplayRowT> replays;           // by attempt: from here, and to here
  fb::SequenceRowT sequence;
  std::set<std::string> own_copies;  // messages that `replays` say are copies; derived

  // What the last folds touched, for the model to write: (kind, identity). Whole-session changes
  // that every step depends on set all_steps.
  std::set<std::pair<FactKind, std::string>> dirty;
  std::set<std::string> dirty_messages;
  bool session_dirty = false;
  bool all_steps = false;

  bool touched() const { return session_dirty || !dirty.empty(); }
};

// The key of a part among a session's facts: its message, then itself.
std::string part_identity(std::string_view message, std::string_view part);

// True for messages that respool itself put here: copies of another session's.
bool is_own_copy(const SessionFacts& facts, const std::string& message);
// Takes over which messages a continuation copied here.
void note_own_copies(SessionFacts& facts, const fb::ReplayRowT& replay);

// True where an observation showed the thing itself, not only its removal.
template <class Row>
bool is_live(const Row& row) {
  return row.sources != 0;
}

// True where the latest that was seen of the thing is its removal.
bool is_removed(const fb::SessionRowT& row);
bool is_removed(const fb::MessageRowT& row);
bool is_removed(const fb::PartRowT& row);

// True where the part, its message or its session was removed.
bool part_is_removed(const SessionFacts& facts,
                     const MessageFacts& message,
                     const fb::PartRowT& part);

}  // namespace respool
