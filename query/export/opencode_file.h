#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "query/store_reader.h"

namespace respool {

// How a session is written as the file `opencode export` prints and `opencode import` takes.
struct OpenCodeFileOptions {
  // For a session that is to stand beside the old one: new ids throughout, no link to a parent, no
  // share, no permissions, no pending revert; what was reverted or removed is left out, what the
  // importer would stop at is made acceptable or left out, and calls that never ended are errors.
  // Without it ids stay, and the file says what `opencode export` would say.
  bool fresh_ids = false;
  // New ids come from it: equal seeds, equal ids. The importer skips messages whose id it knows, so
  // every attempt needs a seed of its own.
  std::string seed = {};
  std::int64_t id_time_ms = 0;  // the time new ids state
  // Where the session is to live; "": where it lived. Where that is another directory, hashes of
  // file snapshots go: the git trees they name are in the old host's data.
  std::string directory = {};
  // Cost and tokens of the session, its messages and its steps are 0: a sum over all sessions then
  // counts nothing twice.
  bool zero_usage = false;
  // Puts `directory` in the place of the old one in the inputs of tool calls.
  bool map_paths = false;
  std::string title = {};             // "": the stored one
  std::string opencode_version = {};  // "": the stored one
  // For messages whose model no source showed.
  std::string model_provider = {};
  std::string model = {};
  // One more message of the user at the end, marked as synthetic. "": none.
  std::string closing_note = {};
};

// Something the file does not say as the session said it.
struct OpenCodeFileNote {
  std::string message;    // as the store knows it; "" where the session itself is meant
  std::string part;       // "" where the message is meant
  std::string what;       // a sentence without content
  bool left_out = false;  // the thing itself; else it is there, changed or made up
};

struct OpenCodeFile {
  std::string json;
  std::string session;  // its id in the file
  // Old id and new id, in the order of the file. What was made up has "" for its old id.
  std::vector<std::pair<std::string, std::string>> messages;
  std::vector<std::pair<std::string, std::string>> parts;
  std::vector<OpenCodeFileNote> notes;
};

// The session at `point`. A function of the store's content and the options: equal bytes each time.
//
// Errors: NotFound where the point names a message the session has not; those of the store.
// Memory: the file and one observation at a time.
Result<OpenCodeFile> opencode_file(const StoreReader& reader,
                                   SessionNumber number,
                                   const Point& point,
                                   const OpenCodeFileOptions& options);

}  // namespace respool
