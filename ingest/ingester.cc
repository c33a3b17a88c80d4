#include "ingest/ingester.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <system_error>

#include <unistd.h>

#include <fmt/format.h>

#include "schema/opencode/id_time.h"
#include "schema/opencode/json_text.h"

#include "ingest/source/framer.h"

namespace respool {
namespace {

constexpr std::size_t kReadBytes = 1 << 20;

// The session of a record too large to decode: the first id its beginning names.
std::string session_in_beginning(std::string_view raw) {
  constexpr std::size_t kBeginning = 64 << 10;
  const std::string_view beginning = raw.substr(0, kBeginning);
  for (const std::string_view key :
       {"\"sessionID\":\"", "\"aggregate_id\":\"", "\"aggregateID\":\""}) {
    const auto at = beginning.find(key);
    if (at == std::string_view::npos) continue;
    const auto begin = at + key.size();
    const auto end = beginning.find('"', begin);
    if (end == std::string_view::npos) continue;
    const std::string_view id = beginning.substr(begin, end - begin);
    if (is_session_id(id)) return std::string(id);
  }
  return {};
}

// Fills `buffer` from the front; less than its size only at the end of a source that has no more,
// but for sources that give what they have.
Result<std::size_t> read_some(int file, const std::string& name, std::string& buffer) {
  std::size_t done = 0;
  while (done < buffer.size()) {
    const ssize_t got = ::read(file, buffer.data() + done, buffer.size() - done);
    // A signal may ask to stop, which whoever called looks at.
    if (got < 0 && errno == EINTR) break;
    if (got < 0) {
      return Error(ErrorCode::Io,
                   fmt::format("read {}: {}", name, std::generic_category().message(errno)));
    }
    done += static_cast<std::size_t>(got);
    // The first bytes tell the kind of source and must all be there; later ones come as they come.
    if (got == 0 || done >= kRecordingMark.size()) break;
  }
  return done;
}

}  // namespace

Result<void> Ingester::start(const std::string& name) {
  name_ = name;
  latest_ms_.reset();
  first_ms_.reset();
  first_session_.clear();
  fb::RecordingT recording;
  recording.name = name;
  recording.host = options_.host;
  recording.run = options_.run;
  recording.first_received_ms = options_.now_ms();
  RESPOOL_TRY(recording_, recorder_->add_recording(recording));
  return ok();
}

Result<void> Ingester::read(int file, const std::string& name) {
  std::string beginning(kRecordingMark.size(), '\0');
  RESPOOL_TRY(const std::size_t got, read_some(file, name, beginning));
  beginning.resize(got);
  if (beginning == kRecordingMark) return read_recording_stream(file, name, beginning);
  if (begins_as_bundle(beginning)) return read_bundle(file, name, std::move(beginning));
  RESPOOL_TRY(start(name));
  Framer framer([this](const Frame& frame) { return take(frame); });
  counts_.bytes += beginning.size();
  RESPOOL_TRY(framer.feed(beginning));
  std::string buffer(kReadBytes, '\0');
  while (true) {
    if (options_.stop != nullptr && options_.stop->load()) {
      counts_.interrupted = true;
      return recorder_->commit();
    }
    RESPOOL_TRY(const std::size_t size, read_some(file, name, buffer));
    if (size == 0 && options_.stop != nullptr && options_.stop->load()) continue;
    if (size == 0) break;
    counts_.bytes += size;
    RESPOOL_TRY(framer.feed({buffer.data(), size}));
    if (options_.progress) options_.progress(counts_.bytes);
  }
  RESPOOL_TRY(framer.finish());
  return end();
}

// A recording is read by offset; from a pipe it goes through a temporary file.
Result<void> Ingester::read_recording_stream(int file,
                                             const std::string& name,
                                             std::string_view beginning) {
  RecordingPlace place;
  if (::lseek(file, 0, SEEK_CUR) >= 0) {
    RESPOOL_TRY(read_recording(file, name, true, place));
    return recorder_->commit();
  }
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> copy(std::tmpfile(), &std::fclose);
  std::string buffer(beginning);
  while (copy && !buffer.empty()) {
    if (std::fwrite(buffer.data(), 1, buffer.size(), copy.get()) != buffer.size()) break;
    buffer.resize(kReadBytes);
    RESPOOL_TRY(const std::size_t size, read_some(file, name, buffer));
    buffer.resize(size);
  }
  if (!copy || !buffer.empty() || std::fflush(copy.get()) != 0)
    return Error(
        ErrorCode::Io, "no temporary file can be written", "set TMPDIR to a disk with space");
  RESPOOL_TRY(read_recording(::fileno(copy.get()), name, true, place));
  return recorder_->commit();
}

Result<void> Ingester::read_bytes(std::string_view bytes,
                                  const std::string& name,
                                  std::size_t piece_bytes) {
  RESPOOL_TRY(start(name));
  Framer framer([this](const Frame& frame) { return take(frame); });
  counts_.bytes += bytes.size();
  while (!bytes.empty()) {
    const std::string_view piece = bytes.substr(0, piece_bytes);
    RESPOOL_TRY(framer.feed(piece));
    bytes.remove_prefix(piece.size());
  }
  RESPOOL_TRY(framer.finish());
  return end();
}

// An event's own time. Ids need a hint for their wrap: a time the record states, else the last one
// this source stated, else now.
std::optional<std::int64_t> Ingester::time_of(const Record& record) {
  // Nothing of OpenCode is older than this; such a time would send every hint astray.
  constexpr std::int64_t kOpenCodeBegan = 1'700'000'000'000;
  const bool plausible = record.time_ms && *record.time_ms >= kOpenCodeBegan &&
                         *record.time_ms <= options_.now_ms() + kIdWrapMs / 2;
  if (plausible) latest_ms_ = record.time_ms;
  if (plausible && !record.session.empty()) session_ms_[record.session] = *record.time_ms;
  if (record.shape == Shape::RunLine || is_state_shape(record.shape)) return record.time_ms;
  const auto id = id_time(record.event_id);
  if (!id) return record.time_ms;
  const auto known = session_ms_.find(record.session);
  return resolve_id_time(
      *id, known != session_ms_.end() ? known->second : latest_ms_.value_or(options_.now_ms()));
}

Result<void> Ingester::take(const Frame& frame) {
  const Record record = frame.shape ? decode_record(frame.raw, *frame.shape, frame.session)
                                    : decode_record(frame.raw);
  Observation observation;
  observation.shape = record.shape;
  observation.wire_type = record.wire_type;
  if (frame.truncated) observation.wire_type = kTruncatedType;
  if (!frame.name.empty()) observation.wire_type = frame.name;
  observation.received_ms = clock_ms_ != 0 ? clock_ms_ : options_.now_ms();
  observation.host = header_ && options_.host.empty() ? header_->host : options_.host;
  observation.run = header_ && options_.run.empty() ? header_->run : options_.run;
  observation.as_of_ms = frame.as_of_ms;
  observation.recording = recording_;
  observation.place = frame.place;
  observation.raw = frame.raw;
  observation.time_ms = time_of(record);
  if (!observation.time_ms) observation.time_ms = frame.time_ms ? frame.time_ms : frame.as_of_ms;
  std::string session = record.session;
  if (session.empty() && frame.raw.size() > kDecodeLimitBytes)
    session = session_in_beginning(frame.raw);
  if (session.empty()) session = recording_session_;
  if (session.empty()) {
    observation.stream = {StreamKind::Host,
                          observation.host.empty() ? "unknown" : observation.host};
  } else {
    observation.stream = {StreamKind::Session, session};
    if (first_session_.empty()) first_session_ = session;
    if (!first_ms_) first_ms_ = observation.time_ms;
    counts_.sessions.insert(session);
  }
  const auto* part = std::get_if<fb::PartRowT>(&record.body);
  if (part != nullptr && !part->output_path.empty())
    output_paths_.emplace(session, part->output_path);
  note_damage(frame, record);
  if (record.kind == Kind::Unknown && record.shape != Shape::Malformed &&
      !is_known_member(observation.wire_type))
    ++counts_.unknown;
  return append(observation, record);
}

Result<void> Ingester::append(Observation& observation, const Record& record) {
  RESPOOL_TRY(const auto at, recorder_->record(observation, record));
  ++counts_.observations;
  ++(at.duplicate ? counts_.duplicates : counts_.appended);
  const bool tells_more = !options_.host.empty() || !options_.run.empty();
  if (!at.duplicate || !tells_more || observation.stream.kind != StreamKind::Session ||
      !observation.time_ms)
    return ok();
  auto& span =
      known_spans_.try_emplace(observation.stream.text, *observation.time_ms, *observation.time_ms)
          .first->second;
  span.first = std::min(span.first, *observation.time_ms);
  span.second = std::max(span.second, *observation.time_ms);
  return ok();
}

void Ingester::note_damage(const Frame& frame, const Record& record) {
  constexpr unsigned kDamage = kMalformed | kRepaired | kIdentityMismatch;
  const bool oversized = frame.raw.size() > kDecodeLimitBytes;
  if ((record.problems & kDamage) == 0 && !oversized && !frame.truncated) return;
  ++counts_.malformed;
  if (!counts_.first_damage.empty()) return;
  std::string_view what = "not JSON";
  if (oversized) {
    what = "a record above the decode limit of 64 MiB, kept whole";
  } else if (frame.truncated) {
    what = "the document breaks off";
  } else if ((record.problems & kIdentityMismatch) != 0) {
    what = record.problem_detail;
  } else if (record.shape != Shape::Malformed) {
    what = "a record that breaks off or needed repair";
  }
  counts_.first_damage = fmt::format("{}, byte {}: {}", name_, frame.place, what);
}

// Records that were known already may come with a host or a run that was not: an observation of our
// own says so for each session.
Result<void> Ingester::note_sources() {
  const auto spans = std::exchange(known_spans_, {});
  for (const auto& [session, span] : spans) {
    const std::string raw = fmt::format(
        R"({{"type":"respool.source","timestamp":{},"until":{},"sessionID":"{}","host":{},"run":{}}})",
        span.first,
        span.second,
        session,
        json_string(options_.host),
        json_string(options_.run));
    Frame frame;
    frame.raw = raw;
    frame.shape = Shape::Note;
    RESPOOL_TRY(take(frame));
  }
  known_spans_.clear();  // a note that was known tells nothing more
  return ok();
}

// The prompt the user supplied becomes an observation of our own, in the run's session.
Result<void> Ingester::end() {
  RESPOOL_TRY(note_sources());
  if (options_.prompt && !first_session_.empty()) {
    const std::string raw =
        fmt::format(R"({{"type":"respool.prompt","timestamp":{},"sessionID":"{}","text":{}}})",
                    first_ms_.value_or(options_.now_ms()),
                    first_session_,
                    json_string(*options_.prompt));
    Frame frame;
    frame.raw = raw;
    frame.shape = Shape::Note;
    RESPOOL_TRY(take(frame));
  }
  return recorder_->commit();
}

}  // namespace respool
