#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "schema/error.h"

#include "engine/spool/spool_file.h"

namespace respool {

// What the first line of a recording says about all of it. schema/FORMAT.md describes the file.
struct RecordingHeader {
  std::string id;
  std::string source;     // run, watch, plugin, or another program's name
  std::string host;       // where it happened
  std::string run;        // the run it records, "" where none
  std::string session;    // the session of lines that name none, "" where not known yet
  std::string directory;  // the working directory of what is recorded
  std::int64_t started_ms = 0;
};
std::string header_line(const RecordingHeader& header);
// InvalidArgument where `line` is not the first line of a recording of a format this build knows.
Result<RecordingHeader> parse_header_line(std::string_view line);

// Where a line went.
struct RecordedLine {
  std::filesystem::path file;  // empty: kept in memory, or lost
  std::uint64_t offset = 0;
};

// Writes one recording into a spool. Needs no store, no lock and no daemon.
//
// Writing never fails for the caller. Where the first folder's disk is full or gone, a file in the
// next folder continues the recording; where all are, up to kMemoryBytes wait in memory; beyond
// that, lines are counted as lost, and the recording says so as soon as something can be written.
//
// Threads:   one at a time.
// Ownership: the file stays when the writer dies; finish() marks it as complete.
// Errors:    none; is_on_disk() tells whether a folder takes it now.
class RecordingWriter {
 public:
  static constexpr std::uint64_t kMemoryBytes = 64ULL << 20;

  RecordingWriter(std::vector<std::filesystem::path> folders,
                  RecordingHeader header,
                  std::function<std::int64_t()> now_ms);
  ~RecordingWriter();
  RecordingWriter(const RecordingWriter&) = delete;
  RecordingWriter& operator=(const RecordingWriter&) = delete;

  // Appends one line, without its line end. A line that holds line ends is refused by assertion.
  RecordedLine line(std::string_view raw);
  // The session of lines that name none, once it is known: for files that continue this one.
  void set_session(const std::string& session) { header_.session = session; }

  // Makes what was written so far survive a power cut.
  void sync();
  // Syncs and renames the file, so that whoever drains it may remove it.
  void finish();

  const std::string& id() const { return header_.id; }
  bool is_on_disk() const { return file_ >= 0; }
  std::uint64_t lost_lines() const { return lost_lines_ + total_lost_lines_; }
  // Lines that wait in memory because no folder takes them.
  std::uint64_t waiting_bytes() const { return waiting_bytes_; }

 private:
  bool open_file(const std::filesystem::path& folder, std::string_view line = {});
  void close_file(bool done);
  bool append(std::string_view raw);
  bool append_anywhere(std::string_view raw);
  bool write_waiting();
  void note_time();

  std::vector<std::filesystem::path> folders_;
  RecordingHeader header_;
  std::function<std::int64_t()> now_ms_;
  int file_ = -1;
  std::filesystem::path path_;
  std::string file_id_;
  unsigned files_ = 0;
  std::uint64_t offset_ = 0;
  std::int64_t clock_ms_ = 0;
  std::int64_t retry_at_ms_ = 0;
  std::deque<std::string> waiting_;
  std::uint64_t waiting_bytes_ = 0;
  std::uint64_t lost_lines_ = 0;  // not told in the recording yet
  std::uint64_t lost_bytes_ = 0;
  std::uint64_t total_lost_lines_ = 0;
};

}  // namespace respool
