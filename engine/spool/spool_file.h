#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schema/error.h"

namespace respool {

// The process that writes a recording, as the recording's file name says. Process numbers are used
// again, so the start time and the boot go with them.
struct WriterIdentity {
  std::uint64_t pid = 0;
  std::uint64_t start_time = 0;  // clock ticks after boot, from /proc/PID/stat; 0 where unknown
  std::string boot;              // the boot's id, "-", the number of the process namespace

  friend bool operator==(const WriterIdentity&, const WriterIdentity&) = default;
};

WriterIdentity this_process();
// When a process began, in clock ticks after boot. Nothing where there is none of that number.
std::optional<std::uint64_t> process_start_time(std::uint64_t pid);

// How sure it is that a writer is gone.
enum class Liveness : std::uint8_t { Alive, Dead, Unknown };  // Unknown: in another namespace
Liveness liveness_of(const WriterIdentity& writer);

// One recording that waits in a spool: ID.PID.STARTTIME.BOOT.open while its writer works, .done
// after.
struct SpoolFile {
  std::filesystem::path path;
  std::string id;  // letters, digits, "-", "_": names the recording for ever
  WriterIdentity writer;
  bool done = false;
  std::uint64_t bytes = 0;
  std::int64_t modified_ms = 0;

  // Nobody will write to it any more.
  bool ended() const;
};

std::string spool_file_name(std::string_view id, const WriterIdentity& writer, bool done);
// Nothing where `name` is not such a name. Fills path, id, writer and done.
std::optional<SpoolFile> parse_spool_file_name(const std::filesystem::path& path);

// The recordings in these folders, in the order they were begun. A folder that is not there is
// empty.
std::vector<SpoolFile> list_spool(const std::vector<std::filesystem::path>& folders);

// "run-" and 16 random hex digits, after the time, so that names sort by when they were begun.
std::string new_recording_id(std::string_view source, std::int64_t now_ms);

// Makes the folder for this user alone. Io where that fails.
Result<void> make_private_folder(const std::filesystem::path& folder);

// The stable part of a recording's first line: what tells it from any other file.
inline constexpr std::string_view kRecordingMark = "{\"respool_recording\":1,";

}  // namespace respool
