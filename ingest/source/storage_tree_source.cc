#include "ingest/source/storage_tree_source.h"

#include <algorithm>
#include <cerrno>
#include <map>
#include <memory>
#include <set>
#include <system_error>
#include <tuple>
#include <utility>

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>
#include <sys/stat.h>

#include "schema/digest.h"
#include "schema/ids.h"
#include "schema/opencode/id_time.h"
#include "schema/opencode/json_text.h"
#include "schema/opencode/record.h"
#include "schema/opencode/utf8.h"

#include "ingest/source/note.h"
#include "ingest/source/storage_tree_files.h"

namespace respool {
namespace {

namespace fs = std::filesystem;

using storage_tree::comes_before;
using storage_tree::judge;
using storage_tree::kGone;
using storage_tree::list_files;
using storage_tree::misplaced;
using storage_tree::read_whole;
using storage_tree::StorageFile;
using storage_tree::Verdict;

// ---------------------------------------------------------------- reading

class TreeReader {
 public:
  TreeReader(Descriptor root, const FrameSink& sink) : root_(std::move(root)), sink_(&sink) {}

  Result<std::vector<StorageProblem>> read() {
    std::vector<StorageFile> files = list_files(root_);
    find_sessions(files);
    std::sort(files.begin(), files.end(), comes_before);
    for (const auto& file : files) {
      RESPOOL_TRY(read_file(file));
    }
    return std::move(problems_);
  }

 private:
  // A part's path names its message only, whose own path names the session. Where the message is
  // gone, the first of its parts that can be read tells.
  void find_sessions(std::vector<StorageFile>& files) {
    std::map<std::string, std::string> sessions;  // by message
    for (const auto& file : files) {
      if (file.shape == Shape::ExportMessage && !file.session.empty())
        sessions.try_emplace(file.message, file.session);
    }
    for (const auto& file : files) {
      if (file.shape != Shape::ExportPart || sessions.contains(file.message)) continue;
      if (!file.unreadable.empty() || !read_whole(root_, file.path, bytes_).empty()) continue;
      const Record record = decode_record(bytes_, Shape::ExportPart);
      if (!record.session.empty()) sessions.emplace(file.message, record.session);
    }
    for (auto& file : files) {
      const auto found = sessions.find(file.message);
      if (file.session.empty() && found != sessions.end()) file.session = found->second;
    }
  }

  Result<void> read_file(const StorageFile& file) {
    if (file.session != session_) {
      session_ = file.session;
      session_ms_.reset();
      message_ms_.reset();
    }
    if (file.message != message_) {
      message_ = file.message;
      message_ms_.reset();
    }
    const std::string failure =
        file.unreadable.empty() ? read_whole(root_, file.path, bytes_) : file.unreadable;
    if (!failure.empty()) {
      report(file, failure);
      if (failure == kGone) return ok();
      // The system's words for it stay out of the log.
      return leave_note(file, failure.substr(0, failure.find(':')));
    }
    if (bytes_.empty()) {
      report(file, "empty");
      return leave_note(file, "empty");
    }
    return deliver(file);
  }

  Result<void> deliver(const StorageFile& file) {
    const Record record = decode_record(bytes_, file.shape, file.session);
    const Verdict verdict = judge(bytes_, file.shape, record);
    if (!verdict.what.empty()) report(file, verdict.what);
    if (!verdict.readable) return deliver_damaged(file, record, verdict);
    if (verdict.what.empty() && is_state_shape(file.shape)) {
      const std::string_view what = misplaced(file, record);
      if (!what.empty()) report(file, what);
    }
    Frame frame;
    frame.raw = bytes_;
    frame.shape = file.shape;
    frame.session = file.session;
    frame.name = file.name;
    if (is_state_shape(file.shape)) {
      see_time(record.latest_ms);
      if (file.shape == Shape::ExportMessage) message_ms_ = record.time_ms;
      const auto moment = moment_of(file);
      frame.as_of_ms = record.latest_ms ? record.latest_ms : moment;
      if (file.shape == Shape::ExportPart) frame.time_ms = moment;
    }
    return (*sink_)(frame);
  }

  Result<void> deliver_damaged(const StorageFile& file,
                               const Record& record,
                               const Verdict& verdict) {
    Frame frame;
    frame.raw = bytes_;
    frame.shape = Shape::Malformed;
    frame.session = file.session.empty() ? record.session : file.session;
    frame.name = file.path;
    frame.truncated = verdict.truncated;
    frame.time_ms = moment_of(file);
    // A store keeps equal bytes once a session: those of a second file need another word.
    const Sha256 digest = sha256(bytes_);
    if (!damaged_.emplace(frame.session, as_bytes(digest)).second)
      return leave_note(file, verdict.what);
    return (*sink_)(frame);
  }

  void report(const StorageFile& file, std::string_view what) {
    problems_.push_back({file.path, std::string(what)});
  }

  Result<void> leave_note(const StorageFile& file, std::string_view what) {
    const std::string raw = Note("respool.damaged", file.modified_ms)
                                .text("sessionID", file.session)
                                .text("file", file.path)
                                .number("bytes", static_cast<std::int64_t>(file.bytes))
                                .text("what", what)
                                .str();
    Frame frame;
    frame.raw = raw;
    frame.shape = Shape::Note;
    return (*sink_)(frame);
  }

  void see_time(std::optional<std::int64_t> time) {
    if (!time) return;
    session_ms_ = std::max(session_ms_.value_or(*time), *time);
    newest_ms_ = std::max(newest_ms_.value_or(*time), *time);
  }

  // When its message, or else its session, was made; from the id where the record cannot tell.
  std::optional<std::int64_t> moment_of(const StorageFile& file) const {
    if (!is_state_shape(file.shape)) return std::nullopt;
    if (message_ms_) return message_ms_;
    const auto id = id_time(file.message.empty() ? file.session : file.message);
    const auto hint = session_ms_ ? session_ms_ : newest_ms_;
    if (!id || !hint) return std::nullopt;
    return resolve_id_time(*id, *hint);
  }

  Descriptor root_;
  const FrameSink* sink_;
  std::vector<StorageProblem> problems_;
  std::string bytes_;                                      // of the file at hand
  std::set<std::pair<std::string, std::string>> damaged_;  // (session, digest) delivered so far
  std::string session_;                                    // of the files at hand
  std::string message_;
  std::optional<std::int64_t> session_ms_;  // the latest time seen in this session
  std::optional<std::int64_t> message_ms_;  // when this message was made
  std::optional<std::int64_t> newest_ms_;   // the latest time seen in the tree
};

bool has_records(const fs::path& folder) {
  std::error_code error;
  for (const auto* name : {"session", "message", "part", "session_diff"}) {
    if (fs::is_directory(fs::symlink_status(folder / name, error))) return true;
  }
  return false;
}

}  // namespace

bool is_storage_tree(const fs::path& folder) {
  return has_records(folder) || has_records(folder / "storage");
}

Result<std::vector<StorageProblem>> read_storage_tree(const fs::path& folder,
                                                      const FrameSink& sink) {
  const bool holds = !has_records(folder) && has_records(folder / "storage");
  const fs::path tree = holds ? folder / "storage" : folder;
  Descriptor root(::open(tree.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (root.get() < 0) {
    return Error(errno == ENOENT ? ErrorCode::NotFound : ErrorCode::Io,
                 fmt::format("read {}: {}", tree.string(), std::generic_category().message(errno)));
  }
  return TreeReader(std::move(root), sink).read();
}

}  // namespace respool
