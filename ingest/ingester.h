#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/model/recorder.h"
#include "engine/spool/recording_writer.h"

#include "ingest/source/frame.h"
#include "ingest/source/recording_source.h"

namespace respool {

// What a source lacks and the user supplies.
struct IngestOptions {
  std::string host;                             // where it happened, "" where nobody knows
  std::string run;                              // the run a file of run lines belongs to
  std::optional<std::string> prompt;            // the prompt of that run
  std::function<std::int64_t()> now_ms;         // the clock
  std::function<void(std::uint64_t)> progress;  // bytes read so far
  const std::atomic<bool>* stop = nullptr;      // ends the ingest between two reads
};

struct IngestCounts {
  std::uint64_t observations = 0;  // appended + duplicates
  std::uint64_t appended = 0;
  std::uint64_t duplicates = 0;
  std::uint64_t unknown = 0;    // of types this build does not know
  std::uint64_t malformed = 0;  // kept, but not readable to the end
  std::uint64_t bytes = 0;
  std::set<std::string> sessions;
  // Where the first damage lies, in words: "FILE, byte 1200: not JSON".
  std::string first_damage;
  // Streams of bundles that do not fit, and bundles that are damaged: the first of them, and how
  // many there were.
  std::vector<Error> problems;
  std::uint64_t refused = 0;
  bool interrupted = false;
};

// How far a recording was taken in, and what its later lines need to know of the earlier ones.
struct RecordingPlace {
  std::uint64_t offset = 0;   // of the first line not taken in
  std::uint32_t number = 0;   // in the store, 0 before the first line
  std::string session;        // of lines that name none, "" while not known
  std::int64_t clock_ms = 0;  // the last time the recording told
};

// True for the first bytes of a bundle, at least 15 of them.
bool begins_as_bundle(std::string_view beginning);

// Takes sources of any textual shape, recordings and bundles into a store.
//
// Threads:   one at a time.
// Ownership: borrows the recorder.
// Errors:    those of the recorder; Io where the source cannot be read. Damaged input is no error:
//            it is kept, counted and shown by `gaps`.
class Ingester {
 public:
  Ingester(Recorder& recorder, IngestOptions options)
      : recorder_(&recorder), options_(std::move(options)) {}

  // Reads `file` (an open descriptor) to its end. `name` is what messages call it.
  Result<void> read(int file, const std::string& name);
  // The same for bytes in memory, in pieces of `piece_bytes`.
  Result<void> read_bytes(std::string_view bytes,
                          const std::string& name,
                          std::size_t piece_bytes = std::string::npos);

  // Takes in the lines of a recording from `place` on and moves `place` on. Lines that wait for
  // their session, and a line without its end, stay where they are unless the recording `ended`.
  // `moved` is called after each line, before the next.
  Result<void> read_recording(int file,
                              const std::string& name,
                              bool ended,
                              RecordingPlace& place,
                              const std::function<void()>& moved = {});
  // Begins a source whose records come one by one through take().
  Result<void> start(const std::string& name);
  Result<void> take(const Frame& frame);

  // The files that parts taken since the last call say a long output was saved to, by session.
  std::set<std::pair<std::string, std::string>> take_output_paths() {
    return std::exchange(output_paths_, {});
  }

  const IngestCounts& counts() const { return counts_; }

 private:
  Result<void> read_bundle(int file, const std::string& name, std::string beginning);
  Result<void> read_recording_stream(int file, const std::string& name, std::string_view beginning);
  Result<bool> begin_recording(int file,
                               const std::string& name,
                               bool ended,
                               RecordingPlace& place);
  Result<bool> take_line(const RecordingLine& line, bool ended, RecordingPlace& place);
  Result<void> end();
  Result<void> append(Observation& observation, const Record& record);
  Result<void> note_sources();
  std::optional<std::int64_t> time_of(const Record& record);
  void note_damage(const Frame& frame, const Record& record);

  Recorder* recorder_;
  IngestOptions options_;
  IngestCounts counts_;
  std::string name_;
  std::uint32_t recording_ = 0;
  std::optional<std::int64_t> latest_ms_;  // the last time a record of this source stated
  std::optional<std::int64_t> first_ms_;
  std::map<std::string, std::int64_t> session_ms_;  // by session: the last plausible time it stated
  // By session: the span of records that were known already, while host or run are new.
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> known_spans_;
  std::string first_session_;
  std::set<std::pair<std::string, std::string>> output_paths_;
  // While a recording is read: what its header says, and the time it told last.
  std::optional<RecordingHeader> header_;
  std::string recording_session_;
  std::int64_t clock_ms_ = 0;
};

}  // namespace respool
