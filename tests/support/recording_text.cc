#include "tests/support/recording_text.h"

#include <fstream>
#include <stdexcept>

#include <fmt/format.h>

namespace respool::test {

std::string run_line(const std::string& session, int number, std::size_t padding_bytes) {
  return fmt::format(
      R"({{"type":"text","timestamp":{},"sessionID":"{}","part":{{"id":"prt_{:08}","messageID":"msg_1","sessionID":"{}","type":"text","text":"{}{}"}}}})",
      kRunMs + number,
      session,
      number,
      session,
      number,
      std::string(padding_bytes, 'x'));
}

std::string start_note(const std::string& run) {
  return fmt::format(
      R"({{"type":"respool.run.started","timestamp":{},"run":"{}","host":"there","directory":"/work","opencode_version":"1.18.33","argv":["run","--"],"prompt_bytes":6}})",
      kRunMs,
      run);
}

std::string prompt_note(const std::string& text) {
  return fmt::format(R"({{"type":"respool.prompt","timestamp":{},"text":"{}"}})", kRunMs + 1, text);
}

std::string end_note(const std::string& run, const std::string& outcome, std::int64_t time_ms) {
  return fmt::format(
      R"({{"type":"respool.run.ended","timestamp":{},"run":"{}","exit":0,"outcome":"{}"}})",
      time_ms,
      run,
      outcome);
}

std::string clock_note(std::int64_t time_ms) {
  return fmt::format(R"({{"type":"respool.clock","timestamp":{}}})", time_ms);
}

std::string recording_text(const std::string& id,
                           const std::string& source,
                           const std::vector<std::string>& lines) {
  std::string text = header_line({.id = id,
                                  .source = source,
                                  .host = "there",
                                  .run = source == "run" ? "run_" + id : "",
                                  .session = {},
                                  .directory = "/work",
                                  .started_ms = kRunMs}) +
                     "\n";
  for (const auto& line : lines)
    text += line + "\n";
  return text;
}

WriterIdentity dead_writer() {
  WriterIdentity writer = this_process();
  ++writer.start_time;
  return writer;
}

fs::path put_recording(const fs::path& spool,
                       const std::string& id,
                       const WriterIdentity& writer,
                       bool done,
                       const std::string& bytes) {
  fs::create_directories(spool);
  const auto path = spool / spool_file_name(id, writer, done);
  write_file(path, bytes);
  return path;
}

void append_to(const fs::path& path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::app);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.flush();
  if (!file) throw std::runtime_error("cannot append to " + path.string());
}

}  // namespace respool::test
