#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "engine/spool/spool_file.h"

#include "ingest/ingester.h"

namespace respool {

struct DrainOptions {
  std::vector<std::filesystem::path> folders;
  std::function<std::int64_t()> now_ms;
  const std::atomic<bool>* stop = nullptr;
};

struct DrainReport {
  IngestCounts counts;
  std::uint64_t recordings = 0;     // that had something new
  std::vector<std::string> broken;  // recordings that could not be read, and why
  // Sessions of runs whose recorder died: OpenCode may have gone on unseen.
  std::vector<std::string> abandoned;
};

// Takes in what waits in the spool: recordings whose writer ended or died, to their end, and the
// whole lines of those still being written. Each recording's cursor is written with its records.
// Once all is durable, recordings that nobody writes to any more are removed.
//
// Errors: those of the recorder. A recording that cannot be read is left where it is and named.
Result<DrainReport> drain_spool(Store& store, Recorder& recorder, const DrainOptions& options);

struct SpoolState {
  std::uint64_t undrained_bytes = 0;  // not in the store yet
  bool has_work = false;              // these, or recordings that ended and only wait to be closed
};
// `view` may be absent: then nothing is in the store.
Result<SpoolState> spool_state(const ReadView* view,
                               const std::vector<std::filesystem::path>& folders);

}  // namespace respool
