#pragma once

#include <cstdint>
#include <string_view>

namespace respool {

// What a record says, whichever name its generation of OpenCode gave it.
enum class Kind : std::uint8_t {
  Unknown,       // a type this build does not know
  SessionState,  // a session's info, whole
  SessionRemoved,
  MessageState,  // a message's info, whole
  MessageRemoved,
  PartState,  // a part, whole
  PartRemoved,
  SessionStatus,  // busy, idle or retry
  SessionIdle,
  SessionError,
  Compacted,
  PermissionAsked,
  PermissionReplied,
  QuestionAsked,
  QuestionReplied,
  QuestionRejected,
  Todos,
  CommandExecuted,
  Prompt,       // respool's own: a prompt given beside a source that has none
  Source,       // respool's own: the host and run of records that were known already
  RunStarted,   // respool's own: how a run began
  RunStderr,    // a line of its standard error
  RunEnded,     // how it ended
  Lost,         // lines a recording could not keep
  Binding,      // where a session can be resumed
  Damaged,      // a file of OpenCode that could not be read
  SessionGone,  // OpenCode no longer has the session
  ReplayStep,   // a step of a session's continuation in another
  OutputFile,   // a long output that OpenCode saved to a file
  Passing,      // known, kept, and says nothing that a fact needs
  Foreign,      // known to belong to OpenCode's second API, kept, not folded yet
};

// The kind of a wire type. A trailing ".1" (OpenCode's schema version) is ignored.
Kind kind_of(std::string_view wire_type);

// True for members of an export or folders of a storage tree that are known and say nothing more.
bool is_known_member(std::string_view name);

// The part type a run line's type promises ("tool_use" promises "tool"), "" where none.
std::string_view promised_part_type(std::string_view run_line_type);

}  // namespace respool
