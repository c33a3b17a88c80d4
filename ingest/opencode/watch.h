#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "schema/opencode/record.h"

#include "engine/spool/recording_writer.h"

#include "ingest/opencode/http_client.h"

namespace respool {

struct WatchOptions {
  std::vector<std::filesystem::path> spool_folders;
  std::string host;  // where the server runs
  std::function<std::int64_t()> now_ms;
  const std::atomic<bool>* stop = nullptr;
  // What the store has of each session: OpenCode's own event numbers from 0 up to this one.
  std::map<std::string, std::uint64_t> known;
  // False for directories that are not captured; null: all are.
  std::function<bool(const std::string& directory)> captures;
  // Called when nothing is urgent, some times a minute: a chance to drain the spool.
  std::function<void()> at_rest;
  // Told once for each connection made and lost, in words.
  std::function<void(const std::string&)> tell;
};

// Records a running `opencode serve`: every event of every directory as it comes, and after each
// time it was away the durable events it missed. Sessions that were there before and that nobody
// touches are left to `respool sync`.
//
// Threads: one at a time. Errors: those of the first connection. Later ones are waited for.
class Watch {
 public:
  Watch(OpenCodeClient client, WatchOptions options);

  // Records until it is told to stop.
  Result<void> run();

 private:
  Result<void> connect();
  Result<void> opened();
  Result<void> take(std::string_view data);
  void rotate();
  Result<void> fill_gaps();
  Result<std::string> known_map();
  Result<void> take_history(std::string_view answer);
  void saw(const Record& record);
  void note_binding(const Record& record);
  bool wanted(std::string_view raw, const Record& record);
  void line(std::string_view raw);
  void wait_before_retry();
  bool stopped() const { return options_.stop != nullptr && options_.stop->load(); }

  OpenCodeClient client_;
  WatchOptions options_;
  std::unique_ptr<RecordingWriter> recording_;
  std::uint64_t recorded_bytes_ = 0;
  std::int64_t recording_since_ms_ = 0;
  bool connected_once_ = false;
  std::int64_t filled_ms_ = 0;
  std::int64_t rested_ms_ = 0;
  std::int64_t retry_ms_ = 0;
  // Of each session seen: the last of OpenCode's event numbers without one missing before it.
  std::map<std::string, std::optional<std::uint64_t>> sequences_;
  std::set<std::string> untouched_;  // were there before us; nothing of them came yet
  std::set<std::string> unwanted_;   // sessions of directories that are not captured
  std::set<std::string> bound_;      // sessions whose binding was noted
  bool gap_ = false;                 // a number was skipped
};

}  // namespace respool
