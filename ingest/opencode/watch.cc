#include "ingest/opencode/watch.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include <fmt/format.h>

#include "schema/digest.h"
#include "schema/opencode/json_text.h"

#include "ingest/opencode/runtime.h"
#include "ingest/source/document.h"
#include "ingest/source/note.h"
#include "ingest/source/sse_source.h"

namespace respool {
namespace {

using std::chrono::milliseconds;

// The server says something every ten seconds.
constexpr milliseconds kSilence{30'000};
constexpr std::int64_t kFirstRetryMs = 500;
constexpr std::int64_t kLastRetryMs = 5'000;
// Another process that shares the server's database shows up in its history alone.
constexpr std::int64_t kFillMs = 30'000;
constexpr std::int64_t kRestMs = 10'000;
// A recording is ended and begun anew, so that what was drained can be removed.
constexpr std::uint64_t kRotateBytes = 16ULL << 20;
constexpr std::int64_t kRotateMs = 3'600'000;
// More than any session has: "we have all of it" in the words of /sync/history.
constexpr std::uint64_t kEverything = (1ULL << 53) - 1;

constexpr std::string_view kAllSessions = "/experimental/session?archived=true&limit=1000000";

}  // namespace

Watch::Watch(OpenCodeClient client, WatchOptions options)
    : client_(std::move(client)), options_(std::move(options)), retry_ms_(kFirstRetryMs) {
  for (const auto& [session, last] : options_.known)
    sequences_[session] = last;
}

Result<void> Watch::run() {
  rotate();
  while (!stopped()) {
    const auto connected = connect();
    if (!connected && !connected_once_) return connected.error();
    const std::string why = connected ? "the server ended the stream" : connected.error().message();
    if (!stopped()) {
      line(Note("respool.watch.disconnected", options_.now_ms()).text("reason", why).str());
      if (options_.tell) options_.tell(fmt::format("connection lost ({}); trying again", why));
      wait_before_retry();
    }
  }
  // What the server said last may still be on its way; its history has the durable part.
  if (const auto last = fill_gaps(); !last && options_.tell) options_.tell(last.error().message());
  recording_->finish();
  return ok();
}

void Watch::wait_before_retry() {
  constexpr milliseconds kStep{50};
  for (std::int64_t waited = 0; waited < retry_ms_ && !stopped(); waited += kStep.count())
    std::this_thread::sleep_for(kStep);
  retry_ms_ = std::min(retry_ms_ * 2, kLastRetryMs);
}

Result<void> Watch::connect() {
  EventStreamCutter cutter([this](std::string_view data) { return take(data); });
  RESPOOL_TRY(client_.stream(
      "/global/event",
      kSilence,
      options_.stop,
      [&](std::string_view bytes) { return cutter.feed(bytes); },
      [this] { return opened(); }));
  return ok();
}

// The stream is open and keeps what comes while this asks for what was missed.
Result<void> Watch::opened() {
  RESPOOL_TRY(const auto health, client_.get("/global/health"));
  RESPOOL_TRY(const auto schema, client_.get("/doc"));
  line(Note("respool.watch.connected", options_.now_ms())
           .text("url", client_.address().text())
           .text("doc_sha256", to_hex(as_bytes(sha256(schema))))
           .raw("health", is_valid_json(health) ? minify_json(health) : "null")
           .str());
  if (!connected_once_) {
    RESPOOL_TRY(const auto sessions, client_.get(std::string(kAllSessions)));
    RESPOOL_TRY(cut_document(sessions, 0, [this](const Frame& frame) -> Result<void> {
      const std::string id = decode_record(frame.raw, Shape::ExportSession).session;
      if (!id.empty() && !sequences_.contains(id)) untouched_.insert(id);
      return ok();
    }));
  }
  const bool again = std::exchange(connected_once_, true);
  if (options_.tell)
    options_.tell(
        fmt::format("{} to {}", again ? "connected again" : "connected", client_.address().text()));
  RESPOOL_TRY(fill_gaps());
  retry_ms_ = kFirstRetryMs;
  return ok();
}

void Watch::line(std::string_view raw) {
  recording_->line(raw);
  recorded_bytes_ += raw.size() + 1;
}

void Watch::rotate() {
  const std::int64_t now = options_.now_ms();
  recording_since_ms_ = now;
  RecordingHeader header{.id = new_recording_id("watch", now),
                         .source = "watch",
                         .host = options_.host,
                         .run = {},
                         .session = {},
                         .directory = {},
                         .started_ms = now};
  auto next = std::make_unique<RecordingWriter>(options_.spool_folders, header, options_.now_ms);
  if (recording_ && !next->is_on_disk()) return;  // no disk takes a new file: the old one goes on
  if (recording_) recording_->finish();
  recording_ = std::move(next);
  recorded_bytes_ = 0;
}

Result<void> Watch::take(std::string_view data) {
  const Record record = decode_record(data);
  if (wanted(data, record)) {
    // JSON of several lines: the line ends are none of its content.
    line(data.find('\n') == std::string_view::npos ? std::string(data) : minify_json(data));
    saw(record);
  }
  const std::int64_t now = options_.now_ms();
  const bool rotates = recorded_bytes_ > kRotateBytes ||
                       (recorded_bytes_ > 0 && now - recording_since_ms_ > kRotateMs);
  if (rotates && recording_->waiting_bytes() == 0) rotate();
  const bool heartbeat = record.wire_type == "server.heartbeat";
  if (gap_ || (heartbeat && now - filled_ms_ > kFillMs)) {
    RESPOOL_TRY(fill_gaps());
  }
  if (heartbeat && now - rested_ms_ > kRestMs && options_.at_rest) {
    recording_->sync();
    options_.at_rest();
    rested_ms_ = options_.now_ms();
  }
  return ok();
}

// By the directory a frame names, or that its session was made in.
bool Watch::wanted(std::string_view raw, const Record& record) {
  if (!options_.captures) return true;
  constexpr std::string_view kDirectory = "{\"directory\":\"";
  std::string directory;
  if (raw.starts_with(kDirectory)) {
    raw.remove_prefix(kDirectory.size());
    directory = raw.substr(0, raw.find('"'));
  }
  if (const auto* session = std::get_if<fb::SessionRowT>(&record.body))
    directory = session->directory;
  if (!directory.empty() && !options_.captures(directory)) {
    if (!record.session.empty()) unwanted_.insert(record.session);
    return false;
  }
  return !unwanted_.contains(record.session);
}

// Follows the numbers of durable events, and notes where a session lives when it first shows.
void Watch::saw(const Record& record) {
  if (record.session.empty()) return;
  if (record.kind == Kind::SessionState) note_binding(record);
  if (!record.sequence) return;
  auto& last = sequences_[record.session];
  const std::uint64_t expected = last ? *last + 1 : 0;
  if (*record.sequence == expected) {
    last = record.sequence;
  } else if (*record.sequence > expected) {
    gap_ = true;
  }
  untouched_.erase(record.session);
}

void Watch::note_binding(const Record& record) {
  const auto* session = std::get_if<fb::SessionRowT>(&record.body);
  if (session == nullptr || session->directory.empty()) return;
  if (!bound_.insert(record.session + '\0' + session->directory).second) return;
  line(Note("respool.binding", options_.now_ms())
           .text("sessionID", record.session)
           .text("host", options_.host)
           .text("directory", canonical_directory(session->directory))
           .text("project", session->project)
           .text("opencode_version", session->opencode_version)
           .str());
}

// All sessions we have something of, with how much; and those nobody touched as if we had them
// whole, because whatever the map leaves out comes from its beginning.
Result<std::string> Watch::known_map() {
  std::string map = "{";
  const auto add = [&](const std::string& session, std::uint64_t last) {
    if (map.size() > 1) map.push_back(',');
    append_json_string(map, session);
    map += fmt::format(":{}", last);
  };
  for (const auto& [session, last] : sequences_) {
    if (last) add(session, *last);
  }
  for (const auto& session : untouched_) {
    if (!sequences_.contains(session)) add(session, kEverything);
  }
  return map + "}";
}

Result<void> Watch::fill_gaps() {
  gap_ = false;
  filled_ms_ = options_.now_ms();
  RESPOOL_TRY(const auto map, known_map());
  RESPOOL_TRY(const auto answer, client_.post("/sync/history", map));
  return take_history(answer);
}

Result<void> Watch::take_history(std::string_view answer) {
  // The rows of all sessions are ordered by number alone, so each session's come in order.
  const auto taken = cut_document(answer, 0, [this](const Frame& frame) -> Result<void> {
    const Record record = decode_record(frame.raw);
    if (record.shape != Shape::SyncRow || !wanted(frame.raw, record)) return ok();
    line(frame.raw);
    saw(record);
    return ok();
  });
  gap_ = false;  // what history does not have cannot be asked for again
  return taken;
}

}  // namespace respool
