#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/facts/outcome.h"

#include "query/store_reader.h"

namespace respool {

// One thing said or done, with its text read from the log.
struct TranscriptItem {
  std::string message;
  std::string part;  // "" for what is no part
  std::string role;  // user, assistant
  std::string kind;  // text reasoning tool file compaction command error subtask question
  std::optional<std::int64_t> time_ms;
  std::string text;   // of a tool: its output, or its error
  std::string input;  // of a tool: its input, as JSON
  std::string title;
  std::string tool;  // the tool, or for a withheld call the one it wanted
  std::string call;
  std::string child_session;
  std::optional<ToolOutcome> outcome;
  std::optional<std::int64_t> exit;
  bool removed = false;       // removed, or behind a revert that is not undone
  bool synthetic = false;     // OpenCode's words in the user's place
  bool continuation = false;  // OpenCode's own "continue" after a compaction
  bool summary = false;       // stands for what was compacted away
};

struct Transcript {
  std::string session;
  std::string directory;
  std::string title;
  std::vector<TranscriptItem> items;
};

// A session as a reader should see it, at `point`. Texts come from the log, one read a part.
Result<Transcript> read_transcript(const StoreReader& reader,
                                   SessionNumber number,
                                   const Point& point);

}  // namespace respool
