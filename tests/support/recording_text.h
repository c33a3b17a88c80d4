#pragma once

#include <string>
#include <vector>

#include "engine/spool/recording_writer.h"

#include "tests/support/temp_store.h"

namespace respool::test {

inline constexpr std::int64_t kRunMs = kNow - 60'000;  // when the recorded runs of tests began

// A text line of OpenCode, as `opencode run` prints it.
std::string run_line(const std::string& session, int number, std::size_t padding_bytes = 0);
// Respool's own notes of a run, without a session.
std::string start_note(const std::string& run);
std::string prompt_note(const std::string& text);
std::string end_note(const std::string& run, const std::string& outcome, std::int64_t time_ms);
std::string clock_note(std::int64_t time_ms);

// A recording of `source`, its header and these lines.
std::string recording_text(const std::string& id,
                           const std::string& source,
                           const std::vector<std::string>& lines);

// Somebody who is not there any more: this process's number, begun at another time.
WriterIdentity dead_writer();

// Writes it into a spool under its proper name; the path.
fs::path put_recording(const fs::path& spool,
                       const std::string& id,
                       const WriterIdentity& writer,
                       bool done,
                       const std::string& bytes);
void append_to(const fs::path& path, std::string_view bytes);

}  // namespace respool::test
