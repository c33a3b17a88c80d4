#include "engine/spool/recording_writer.h"

#include <cerrno>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>
#include <sys/uio.h>

#include "schema/assert.h"
#include "schema/opencode/json_text.h"
#include "schema/opencode/record.h"

namespace respool {
namespace {

// A line that tells the time goes before the first line of each second: what is delivered carries
// no time of receipt.
constexpr std::int64_t kClockStepMs = 1000;
// While nothing can be written, this often it is tried again.
constexpr std::int64_t kRetryMs = 500;

void add_text(std::string& json, std::string_view key, const std::string& value) {
  if (value.empty()) return;
  json += fmt::format(",\"{}\":", key);
  append_json_string(json, value);
}

bool write_line(int file, std::string_view raw) {
  std::uint64_t done = 0;
  const std::uint64_t size = raw.size() + 1;
  char end = '\n';
  while (done < size) {
    iovec parts[2];
    int count = 0;
    if (done < raw.size())
      parts[count++] = {const_cast<char*>(raw.data()) + done, raw.size() - done};
    parts[count++] = {&end, 1};
    const ssize_t wrote = ::writev(file, parts, count);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return false;
    done += static_cast<std::uint64_t>(wrote);
  }
  return true;
}

}  // namespace

std::string header_line(const RecordingHeader& header) {
  std::string json(kRecordingMark);
  json += "\"id\":";
  append_json_string(json, header.id);
  add_text(json, "source", header.source);
  add_text(json, "host", header.host);
  add_text(json, "run", header.run);
  add_text(json, "session", header.session);
  add_text(json, "directory", header.directory);
  json += fmt::format(",\"started_ms\":{}}}", header.started_ms);
  return json;
}

Result<RecordingHeader> parse_header_line(std::string_view line) {
  const auto fields = decode_recording_header(line);
  if (!line.starts_with("{\"respool_recording\":") || !fields) {
    return Error(ErrorCode::InvalidArgument, "this is not the first line of a recording");
  }
  if (!line.starts_with(kRecordingMark)) {
    return Error(ErrorCode::UnsupportedFormat,
                 "the recording is of a format this build does not know",
                 "upgrade respool");
  }
  return RecordingHeader{.id = fields->id,
                         .source = fields->source,
                         .host = fields->host,
                         .run = fields->run,
                         .session = fields->session,
                         .directory = fields->directory,
                         .started_ms = fields->started_ms};
}

RecordingWriter::RecordingWriter(std::vector<std::filesystem::path> folders,
                                 RecordingHeader header,
                                 std::function<std::int64_t()> now_ms)
    : folders_(std::move(folders)), header_(std::move(header)), now_ms_(std::move(now_ms)) {
  for (const auto& folder : folders_) {
    if (open_file(folder)) return;
  }
}

RecordingWriter::~RecordingWriter() {
  if (file_ >= 0) finish();
}

// A file that continues the recording has a name that sorts behind the one before. It begins with
// `line`, where there is one: a folder that takes the header alone leaves no file.
bool RecordingWriter::open_file(const std::filesystem::path& folder, std::string_view line) {
  if (!make_private_folder(folder)) return false;
  RecordingHeader header = header_;
  if (files_ > 0) header.id = fmt::format("{}-{:04}", header_.id, files_);
  const auto path = folder / spool_file_name(header.id, this_process(), false);
  const int file =
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return false;
  const std::string first = header_line(header);
  if (!write_line(file, first) || (!line.empty() && !write_line(file, line))) {
    ::close(file);
    ::unlink(path.c_str());
    return false;
  }
  if (file_ >= 0) close_file(true);
  file_ = file;
  path_ = path;
  file_id_ = header.id;
  offset_ = first.size() + 1 + (line.empty() ? 0 : line.size() + 1);
  clock_ms_ = 0;
  ++files_;
  return true;
}

void RecordingWriter::close_file(bool done) {
  ::fdatasync(file_);
  ::close(file_);
  file_ = -1;
  if (!done) return;
  const auto renamed = path_.parent_path() / spool_file_name(file_id_, this_process(), true);
  // Where the rename fails the file stays open in name and is taken over when this process ends.
  if (::rename(path_.c_str(), renamed.c_str()) != 0) return;
  const int folder = ::open(path_.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  ::fsync(folder);
  ::close(folder);
}

// Appends whole lines only: what a full disk took of one is cut off again.
bool RecordingWriter::append(std::string_view raw) {
  if (file_ < 0) return false;
  if (write_line(file_, raw)) {
    offset_ += raw.size() + 1;
    return true;
  }
  if (::ftruncate(file_, static_cast<off_t>(offset_)) != 0) {
    // The torn line cannot be cut: no line may follow it in this file.
    close_file(false);
  }
  return false;
}

bool RecordingWriter::append_anywhere(std::string_view raw) {
  if (append(raw)) return true;
  const auto current = path_.parent_path();
  for (const auto& folder : folders_) {
    if (file_ >= 0 && folder == current) continue;
    if (open_file(folder, raw)) return true;
  }
  return false;
}

bool RecordingWriter::write_waiting() {
  while (!waiting_.empty()) {
    if (!append_anywhere(waiting_.front())) return false;
    waiting_bytes_ -= waiting_.front().size();
    waiting_.pop_front();
  }
  if (lost_lines_ == 0) return true;
  const std::string note =
      fmt::format(R"({{"type":"respool.lost","timestamp":{},"records":{},"bytes":{}}})",
                  now_ms_(),
                  lost_lines_,
                  lost_bytes_);
  if (!append_anywhere(note)) return false;
  total_lost_lines_ += std::exchange(lost_lines_, 0);
  lost_bytes_ = 0;
  return true;
}

void RecordingWriter::note_time() {
  const std::int64_t now = now_ms_();
  if (now - clock_ms_ < kClockStepMs && now >= clock_ms_) return;
  if (append(fmt::format(R"({{"type":"respool.clock","timestamp":{}}})", now))) clock_ms_ = now;
}

RecordedLine RecordingWriter::line(std::string_view raw) {
  RESPOOL_ASSERT(raw.find('\n') == std::string_view::npos);
  const bool behind = !waiting_.empty() || lost_lines_ > 0;
  const bool due = !behind || now_ms_() >= retry_at_ms_;
  if (due && write_waiting()) {
    note_time();
    if (append_anywhere(raw)) return {path_, offset_ - raw.size() - 1};
  }
  if (due) retry_at_ms_ = now_ms_() + kRetryMs;
  if (waiting_bytes_ + raw.size() <= kMemoryBytes && lost_lines_ == 0) {
    waiting_.emplace_back(raw);
    waiting_bytes_ += raw.size();
  } else {
    ++lost_lines_;
    lost_bytes_ += raw.size();
  }
  return {};
}

void RecordingWriter::sync() {
  write_waiting();
  if (file_ >= 0) ::fdatasync(file_);
}

void RecordingWriter::finish() {
  write_waiting();
  if (file_ >= 0) close_file(true);
}

}  // namespace respool
