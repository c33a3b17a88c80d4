#include "ingest/drain.h"

#include <cerrno>
#include <set>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>

#include "schema/descriptor.h"

#include "engine/storage/keys.h"

#include "ingest/output_files.h"
#include "ingest/source/note.h"

namespace respool {
namespace {

Result<fb::SpoolCursorT> cursor_of(const ReadView& view, const std::string& id) {
  RESPOOL_TRY(const auto row, view.get(Family::Index, keys::spool_cursor(id)));
  if (!row) return fb::SpoolCursorT();
  return decode<fb::SpoolCursorT>(*row, "a cursor of the spool");
}

std::string encode_cursor(const RecordingPlace& place, bool complete) {
  fb::SpoolCursorT cursor;
  cursor.offset = place.offset;
  cursor.recording = place.number;
  cursor.session = place.session;
  cursor.clock_ms = place.clock_ms;
  cursor.complete = complete;
  return encode(cursor);
}

int open_recording(const std::filesystem::path& path) {
  return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
}

class Drain {
 public:
  Drain(Store& store, Recorder& recorder, const DrainOptions& options)
      : store_(&store),
        recorder_(&recorder),
        options_(&options),
        ingester_(recorder,
                  IngestOptions{.host = {},
                                .run = {},
                                .prompt = {},
                                .now_ms = options.now_ms,
                                .progress = {},
                                .stop = options.stop}) {}

  Result<DrainReport> run() {
    const auto files = list_spool(options_->folders);
    RESPOOL_TRY(forget_removed(files));
    for (const auto& file : files) {
      RESPOOL_TRY(one(file));
      if (ingester_.counts().interrupted) break;
    }
    RESPOOL_TRY(take_output_files(ingester_, ingester_.take_output_paths()));
    RESPOOL_TRY(recorder_->finish());
    // Durable now: only then may the recordings go.
    for (const auto& path : finished_)
      ::unlink(path.c_str());
    report_.counts = ingester_.counts();
    return report_;
  }

 private:
  // A cursor lives as long as its file, which a crash may have kept beyond the drain.
  Result<void> forget_removed(const std::vector<SpoolFile>& files) {
    std::set<std::string> there;
    for (const auto& file : files)
      there.insert(keys::spool_cursor(file.id));
    const ReadView view = store_->view();
    RowCursor rows = view.scan_prefix(Family::Index, keys::spool_cursor_prefix());
    for (; rows.valid(); rows.next()) {
      if (!there.contains(std::string(rows.key())))
        recorder_->erase_cursor(std::string(rows.key()));
    }
    return rows.finish();
  }

  Result<void> one(const SpoolFile& listed) {
    const bool ended = listed.ended();
    const Descriptor file(open_recording(listed.path));
    if (file.get() < 0) {
      // Renamed since it was listed: the next drain takes it by its new name.
      if (errno != ENOENT) broken(listed, std::generic_category().message(errno));
      return ok();
    }
    RESPOOL_TRY(const auto cursor, cursor_of(store_->view(), listed.id));
    if (cursor.complete) {
      finished_.push_back(listed.path);
      return ok();
    }
    RecordingPlace place{.offset = cursor.offset,
                         .number = cursor.recording,
                         .session = cursor.session,
                         .clock_ms = cursor.clock_ms};
    const std::string key = keys::spool_cursor(listed.id);
    const auto before = place.offset;
    const auto read = ingester_.read_recording(file.get(), listed.id, ended, place, [&] {
      recorder_->set_cursor(key, encode_cursor(place, false));
    });
    if (!read) {
      // Its own damage keeps no other recording waiting; trouble of the store ends the drain.
      const bool own = read.error().code() == ErrorCode::InvalidArgument ||
                       read.error().code() == ErrorCode::UnsupportedFormat;
      if (!own) return read.error();
      broken(listed, read.error().message());
      return ok();
    }
    if (place.offset != before) ++report_.recordings;
    if (!ended || ingester_.counts().interrupted) return ok();
    if (!listed.done) {
      RESPOOL_TRY(note_dead_writer(listed, place));
    }
    recorder_->set_cursor(key, encode_cursor(place, true));
    finished_.push_back(listed.path);
    return ok();
  }

  // A run whose recorder was killed has no end in its recording: this is one.
  Result<void> note_dead_writer(const SpoolFile& listed, const RecordingPlace& place) {
    const Descriptor file(open_recording(listed.path));
    RecordingReader lines(file.get(), 0);
    RESPOOL_TRY(const auto first, lines.next());
    const auto header = parse_header_line(first ? first->raw : "");
    if (!header || header.value().source != "run" || place.session.empty()) return ok();
    while (true) {
      RESPOOL_TRY(const auto line, lines.next());
      if (!line) break;
      if (line->raw.starts_with("{\"type\":\"respool.run.ended\"")) return ok();
    }
    report_.abandoned.push_back(place.session);
    const std::int64_t time = std::max(place.clock_ms, header.value().started_ms);
    const std::string raw = Note("respool.run.ended", time)
                                .text("sessionID", place.session)
                                .text("run", header.value().run)
                                .text("outcome", "aborted")
                                .text("reason", "respool was killed while the turn ran")
                                .str();
    Frame frame;
    frame.raw = raw;
    frame.shape = Shape::Note;
    return ingester_.take(frame);
  }

  void broken(const SpoolFile& file, const std::string& why) {
    report_.broken.push_back(fmt::format("{}: {}", file.path.string(), why));
  }

  Store* store_;
  Recorder* recorder_;
  const DrainOptions* options_;
  Ingester ingester_;
  DrainReport report_;
  std::vector<std::filesystem::path> finished_;
};

}  // namespace

Result<DrainReport> drain_spool(Store& store, Recorder& recorder, const DrainOptions& options) {
  return Drain(store, recorder, options).run();
}

Result<SpoolState> spool_state(const ReadView* view,
                               const std::vector<std::filesystem::path>& folders) {
  SpoolState state;
  for (const auto& file : list_spool(folders)) {
    std::uint64_t taken = 0;
    bool complete = false;
    if (view != nullptr) {
      RESPOOL_TRY(const auto cursor, cursor_of(*view, file.id));
      taken = cursor.offset;
      complete = cursor.complete;
    }
    const std::uint64_t waiting = !complete && file.bytes > taken ? file.bytes - taken : 0;
    state.undrained_bytes += waiting;
    state.has_work |= waiting > 0 || file.ended();
  }
  return state;
}

}  // namespace respool
