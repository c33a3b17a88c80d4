#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "ingest/ingester.h"
#include "ingest/source/database_source.h"

namespace respool {

struct DatabaseSyncOptions {
  std::string host;  // whose database it is
  std::function<std::int64_t()> now_ms;
  const std::atomic<bool>* stop = nullptr;
  std::function<void(std::uint64_t)> progress = {};
  // Only these, for a look at what a run left; the next whole reading starts where it would have.
  std::vector<std::string> sessions = {};
  bool again = false;  // all rows, also where nothing changed
  // False for directories whose sessions are not wanted; null: all are.
  std::function<bool(const std::string& directory)> captures = {};
};

struct DatabaseSyncReport {
  IngestCounts counts;
  bool unchanged = false;         // nothing was read
  std::vector<std::string> gone;  // sessions that were there the last time and are not now
  std::string foreign_schema;     // in words, where this build reads it only in part
  std::vector<std::string> problems;
};

// Brings an OpenCode database into the store: rows that are new or changed since the last time,
// rows and sessions that vanished, where each session can be resumed, and the files that long
// outputs were saved to. The cursor is written with the last of them.
//
// Errors: those of DatabaseSource and of the recorder.
Result<DatabaseSyncReport> sync_database(Store& store,
                                         Recorder& recorder,
                                         const std::filesystem::path& database,
                                         const DatabaseSyncOptions& options);

}  // namespace respool
