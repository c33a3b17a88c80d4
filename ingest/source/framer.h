#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ingest/source/frame.h"
#include "ingest/source/spill_buffer.h"

namespace respool {

// Cuts bytes of any source that is made of text into frames: lines of JSON, the data of server-sent
// events, and JSON documents of one or many lines, mixed in any order with noise. What cannot be
// read is a frame too, so that nothing is lost; the cut does not depend on how the bytes arrive.
//
// Threads: one at a time. Errors: those of the sink, and Io where a giant record cannot be
// buffered.
class Framer {
 public:
  explicit Framer(FrameSink sink) : sink_(std::move(sink)) {}

  Result<void> feed(std::string_view bytes);
  // The source ended.
  Result<void> finish();

 private:
  Result<void> end_line();
  Result<void> line(std::string_view text, std::uint64_t place);
  Result<void> data_line(std::string_view body, std::uint64_t place);
  Result<void> json_line(std::string_view text, std::uint64_t place);
  Result<void> document_line(std::string_view text, std::uint64_t place);
  Result<void> end_document();
  Result<void> end_data();
  Result<void> emit(std::string_view raw, std::uint64_t place, std::optional<Shape> shape);
  Result<void> objects_of_line(std::string_view text, std::uint64_t place);
  // Follows brackets and strings; false where a string is open at the end of the line.
  bool follow(std::string_view text);
  // True where an object cannot stand next in the open document: it broke off.
  bool object_is_out_of_place() const;

  FrameSink sink_;
  std::uint64_t offset_ = 0;  // bytes fed so far
  std::uint64_t line_place_ = 0;
  SpillBuffer line_;  // the start of a line that spans feeds
  SpillBuffer data_;  // the data of a server-sent event over several lines
  std::uint64_t data_place_ = 0;
  SpillBuffer document_;  // a document over several lines
  std::uint64_t document_place_ = 0;
  bool in_document_ = false;
  std::string open_;              // the document's open brackets, outermost first
  char last_ = '\0';              // its last character that is no white space
  bool in_event_stream_ = false;  // a line of data was seen: fields of events are framing
};

}  // namespace respool
