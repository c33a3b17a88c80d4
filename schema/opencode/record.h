#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "schema/facts_generated.h"
#include "schema/opencode/aliases.h"
#include "schema/opencode/shape.h"

namespace respool {

struct RemovedBody {
  std::string message;
  std::string part;
};

struct StatusBody {
  std::string type;  // busy, idle, retry
};

struct ErrorBody {
  std::string name;
  std::string text;  // never empty where a name is there: falls back on the name
  std::optional<std::int64_t> status_code;
};

// A request or its answer: `row.question` and the halves that the record carries are filled.
struct AskBody {
  fb::AskRowT row;
  bool asked = false;
};

struct TodosBody {
  std::uint32_t count = 0;
  std::uint32_t done = 0;
};

struct CommandBody {
  fb::CommandRowT row;
};

struct PromptBody {
  std::uint64_t text_bytes = 0;
  std::uint64_t digest = 0;
};

// What a later delivery of known records told about them: their host and run are the event's own.
struct SourceBody {
  std::optional<std::int64_t> until_ms;  // of the last of them
};

// One end of a run: which one, the record's kind tells.
struct RunBody {
  fb::RunRowT row;
};

// A line of a run's standard error; a refused permission shows there and nowhere else.
struct StderrBody {
  std::string run;
  std::optional<fb::AskRowT> refusal;
};

struct LostBody {
  std::int64_t records = 0;
  std::int64_t bytes = 0;
};

struct DamagedBody {
  std::string file;
  std::string what;
};

// Where a session can be resumed, or that it cannot any more.
struct BindingBody {
  fb::BindingRowT row;
  bool has_git = false;
};

// One step of a continuation: `row` says what was told so far, `step` which time it sets.
struct ReplayBody {
  fb::ReplayRowT row;
  std::string step;  // planned created seeded verified bound failed
};

// Why a record, though kept, says less than it should. Several may hold.
enum RecordProblem : unsigned {
  kNoProblem = 0,
  kMalformed = 1,         // not JSON, or breaks off: what was read before the break is here
  kRepaired = 2,          // read only after bad UTF-8 or control characters were replaced
  kIdentityMismatch = 4,  // names two sessions, or an id that cannot be one
  kUnknownVariant = 8,    // a known type with a part, status or number it should not have
};

// What one record of OpenCode's wire says, as far as facts need it. Texts stay in the raw bytes.
struct Record {
  Shape shape = Shape::Unknown;
  Kind kind = Kind::Unknown;
  unsigned problems = kNoProblem;
  std::string problem_detail;  // a field's name or a type, never content
  std::string wire_type;       // as delivered
  std::string session;         // "" where none or not a session id
  std::string event_id;
  std::optional<std::uint64_t> sequence;  // OpenCode's own, from 0
  std::optional<std::int64_t> time_ms;    // a time the record itself states
  std::optional<std::int64_t> latest_ms;  // the latest time of the object it shows
  bool sanitized = false;                 // an export with its texts replaced
  std::variant<std::monostate,
               fb::SessionRowT,
               fb::MessageRowT,
               fb::PartRowT,
               RemovedBody,
               StatusBody,
               ErrorBody,
               AskBody,
               TodosBody,
               CommandBody,
               PromptBody,
               SourceBody,
               RunBody,
               StderrBody,
               LostBody,
               DamagedBody,
               BindingBody,
               ReplayBody>
      body;
};

// Records above this are kept and reported, not decoded.
inline constexpr std::uint64_t kDecodeLimitBytes = 64ULL << 20;

// Decodes a record delivered as a line or a frame; its shape is found from its keys.
Record decode_record(std::string_view raw);

// Decodes an object cut out of an export, or a stored record whose shape is known. `session` is
// used where the object does not name one.
Record decode_record(std::string_view raw, Shape shape, std::string_view session = {});

// The first line of a recording. Nothing where `line` is no such object.
struct RecordingHeaderFields {
  std::string id, source, host, run, session, directory;
  std::int64_t started_ms = 0;
};
std::optional<RecordingHeaderFields> decode_recording_header(std::string_view line);

// The texts of one part, command, prompt or request, read again from the raw bytes it came in.
struct Content {
  std::string text;         // of a text, reasoning or prompt
  std::string input;        // a tool's input, as JSON
  std::string output;       // a tool's output
  std::string error;        // a tool's error
  std::string url;          // of a file
  std::string description;  // of a subtask: its prompt; of a command: its arguments
};
Content decode_content(std::string_view raw, Shape shape);

// What the input of a tool that writes files says about one file.
struct FileChange {
  std::string path;
  std::optional<std::string> content;  // all of it, as `write` gives it
  std::string old_text;                // as `edit` gives it
  std::string new_text;
  bool everywhere = false;
};
FileChange decode_file_change(std::string_view tool_input);

}  // namespace respool
