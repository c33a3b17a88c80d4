#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/facts/outcome.h"

#include "query/store_reader.h"

namespace respool {

struct TouchedFile {
  std::string path;
  fb::FileAction action = fb::FileAction::Read;
};

// One thing said or done, with its text read from the log.
struct TranscriptItem {
  std::string message;
  std::string part;  // "" for what is no part
  std::string role;  // user, assistant
  // text reasoning tool file compaction command error subtask, or replay: what respool played
  // into this session from another; `child_session` names that one
  std::string kind;
  std::optional<std::int64_t> time_ms;
  std::string text;   // of a tool: its output, or its error
  std::string input;  // of a tool: its input, as JSON
  std::string title;
  std::string tool;  // the tool, or for a withheld call the one it wanted
  std::string call;
  std::string child_session;
  std::optional<ToolOutcome> outcome;
  std::optional<std::int64_t> exit;
  std::vector<TouchedFile> files;  // that a tool names
  std::string mime;                // of a file
  std::string url;                 // of a file, unless it holds the file itself
  std::string digest;              // of a file that is held: SHA-256 of its data URL, hex
  std::uint64_t bytes = 0;         // of its data URL
  std::string tail_start;          // of a compaction: the first message it left as it was
  std::string replay_id;           // of a replay: which one
  std::string child_of;            // the session it belongs to, where that is a child of this one
  bool removed = false;            // removed, or behind a revert that is not undone
  bool synthetic = false;          // OpenCode's words in the user's place
  bool continuation = false;       // OpenCode's own "continue" after a compaction
  bool own_note = false;           // respool's words to the model, put there by a continuation
  bool summary = false;            // stands for what was compacted away
};

struct Transcript {
  std::string session;
  std::string directory;
  std::string title;
  std::string host;
  std::string provider;  // of the last answer
  std::string model;
  std::vector<TranscriptItem> items;
  std::vector<TouchedFile> patched;         // files that OpenCode saw change during a step
  std::vector<std::string> other_branches;  // messages that only another origin's branch has
};

// A session as a reader should see it, at `point`. Texts come from the log, one read a part. Where
// two origins both continued the session it follows one branch: `point.branch`, or the one that
// went on latest.
Result<Transcript> read_transcript(const StoreReader& reader,
                                   SessionNumber number,
                                   const Point& point);

}  // namespace respool
