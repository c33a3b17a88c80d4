#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "schema/error.h"

#include "ingest/source/spill_buffer.h"

namespace respool {

// One line of a recording.
struct RecordingLine {
  std::string_view raw;      // without its line end; lives until the next call of next()
  std::uint64_t offset = 0;  // where it begins in the file
  bool whole = true;         // false: the file ends inside it
};

// Reads the lines of a file one by one, of any length.
//
// Threads: one at a time. Ownership: borrows the descriptor. Errors: Io where it cannot be read.
class RecordingReader {
 public:
  RecordingReader(int file, std::uint64_t offset) : file_(file), read_(offset), line_at_(offset) {}

  // The next line, nothing at the end of the file as it is now.
  Result<std::optional<RecordingLine>> next();

 private:
  Result<bool> fill();

  int file_;
  std::uint64_t read_;     // how far the file was read
  std::uint64_t line_at_;  // where the next line begins
  std::string buffer_;
  std::size_t used_ = 0;  // of the buffer
  SpillBuffer line_;      // the beginning of a line longer than the buffer
};

}  // namespace respool
