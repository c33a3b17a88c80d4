#include <fmt/format.h>

#include "ingest/ingester.h"

namespace respool {
namespace {

constexpr std::string_view kClock = "{\"type\":\"respool.clock\"";

// The session of a run's lines: what the first line that names one says.
Result<std::string> session_of_run(int file, std::uint64_t from) {
  RecordingReader lines(file, from);
  while (true) {
    RESPOOL_TRY(const auto line, lines.next());
    if (!line) return std::string();
    const Record record = decode_record(line->raw);
    if (record.shape == Shape::RunLine && !record.session.empty()) return record.session;
  }
}

}  // namespace

// False where nothing can be taken in yet: the header itself is not whole.
Result<bool> Ingester::begin_recording(int file,
                                       const std::string& name,
                                       bool ended,
                                       RecordingPlace& place) {
  name_ = name;
  latest_ms_.reset();
  first_ms_.reset();
  first_session_.clear();
  RecordingReader beginning(file, 0);
  RESPOOL_TRY(const auto first, beginning.next());
  if (!first || !first->whole) {
    if (!ended) return false;
    return Error(ErrorCode::InvalidArgument,
                 fmt::format("{}: the recording ends inside its first line", name));
  }
  auto header = parse_header_line(first->raw);
  if (!header)
    return Error(header.error().code(),
                 fmt::format("{}: {}", name, header.error().message()),
                 header.error().next());
  header_ = std::move(header.value());
  clock_ms_ = place.clock_ms != 0 ? place.clock_ms : header_->started_ms;
  if (place.offset == 0) place.offset = first->raw.size() + 1;
  if (place.session.empty()) place.session = header_->session;
  if (place.session.empty() && header_->source == "run") {
    RESPOOL_TRY(place.session, session_of_run(file, place.offset));
  }
  recording_session_ = place.session;
  if (place.number == 0) {
    fb::RecordingT row;
    row.name = header_->id.empty() ? name : header_->id;
    row.host = header_->host;
    row.run = header_->run;
    row.first_received_ms = header_->started_ms;
    RESPOOL_TRY(place.number, recorder_->add_recording(row));
  }
  recording_ = place.number;
  return true;
}

// False where the line must wait.
Result<bool> Ingester::take_line(const RecordingLine& line, bool ended, RecordingPlace& place) {
  if (!line.whole && !ended) return false;
  if (line.raw.starts_with(kClock)) {
    clock_ms_ = decode_record(line.raw).time_ms.value_or(clock_ms_);
    return true;
  }
  if (line.raw.empty()) return true;
  const bool note = line.raw.starts_with("{\"type\":\"respool.");
  const bool waits = note && header_->source == "run" && place.session.empty();
  if (waits && !ended) return false;
  Frame frame;
  frame.raw = line.raw;
  frame.place = line.offset;
  frame.truncated = !line.whole;
  if (!line.whole) frame.shape = Shape::Malformed;
  RESPOOL_TRY(take(frame));
  return true;
}

Result<void> Ingester::read_recording(int file,
                                      const std::string& name,
                                      bool ended,
                                      RecordingPlace& place,
                                      const std::function<void()>& moved) {
  RESPOOL_TRY(const bool ready, begin_recording(file, name, ended, place));
  if (!ready) return ok();
  RecordingReader lines(file, place.offset);
  while (true) {
    if (options_.stop != nullptr && options_.stop->load()) {
      counts_.interrupted = true;
      break;
    }
    RESPOOL_TRY(const auto line, lines.next());
    if (!line) break;
    RESPOOL_TRY(const bool taken, take_line(*line, ended, place));
    if (!taken) break;
    const std::uint64_t size = line->raw.size() + (line->whole ? 1 : 0);
    place.offset = line->offset + size;
    place.clock_ms = clock_ms_;
    counts_.bytes += size;
    if (moved) moved();
    if (options_.progress) options_.progress(counts_.bytes);
  }
  header_.reset();
  recording_session_.clear();
  clock_ms_ = 0;
  return ok();
}

}  // namespace respool
