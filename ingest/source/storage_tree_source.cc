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

namespace respool {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEnding = ".json";
// OpenCode's own files lie three deep.
constexpr std::size_t kMaxDepth = 16;

// An open file or folder, closed with the object.
class Descriptor {
 public:
  explicit Descriptor(int descriptor) : descriptor_(descriptor) {}
  ~Descriptor() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  Descriptor(Descriptor&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

struct StorageFile {
  std::string path;  // relative
  Shape shape = Shape::ExportOther;
  std::string id;       // its name without the ending
  std::string session;  // as far as the path tells
  std::string message;  // messages and parts
  std::string name;     // of ExportOther
  std::int64_t modified_ms = 0;
  std::uint64_t bytes = 0;
  std::string unreadable;  // why it cannot be read, "" where nothing is known against it
};

// ---------------------------------------------------------------- what a path tells

bool may_hold_logins(std::string_view name) {
  std::string lower(name);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower.ends_with("auth.json") || lower.find("account") != std::string::npos ||
         lower.find("credential") != std::string::npos;
}

std::string without_ending(std::string_view name) {
  if (name.ends_with(kEnding)) name.remove_suffix(kEnding.size());
  return std::string(name);
}

std::vector<std::string> components(std::string_view path) {
  std::vector<std::string> names;
  for (std::size_t begin = 0; begin <= path.size();) {
    const auto end = std::min(path.find('/', begin), path.size());
    names.emplace_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  return names;
}

StorageFile file_at(std::string path) {
  StorageFile file;
  std::vector<std::string> names = components(path);
  file.path = std::move(path);
  file.id = names.back() = without_ending(names.back());
  const std::string& top = names.front();
  const bool record = names.size() == 3;
  if (top == "part" && names.size() > 1) file.message = names[1];
  if (record && top == "session") {
    file.shape = Shape::ExportSession;
    file.session = file.id;
  } else if (record && top == "message") {
    file.shape = Shape::ExportMessage;
    file.session = names[1];
    file.message = file.id;
  } else if (record && top == "part") {
    file.shape = Shape::ExportPart;
  } else {
    file.name = top;
    for (const auto& name : names) {
      if (name.starts_with("ses_")) file.session = name;
    }
  }
  if (!is_session_id(file.session)) file.session.clear();
  return file;
}

bool comes_before(const StorageFile& a, const StorageFile& b) {
  // Session by session, each message before its parts; files without a session last.
  const auto place = [](const StorageFile& file) {
    const int group = file.shape == Shape::ExportSession ? 0 : is_state_shape(file.shape) ? 1 : 2;
    const bool part = file.shape == Shape::ExportPart;
    return std::tuple(file.session.empty(),
                      std::string_view(file.session),
                      group,
                      std::string_view(file.message),
                      part,
                      std::string_view(file.path));
  };
  return place(a) < place(b);
}

// ---------------------------------------------------------------- the tree, links never followed

std::int64_t modified_ms(const struct stat& info) {
  return info.st_mtim.tv_sec * 1000LL + info.st_mtim.tv_nsec / 1'000'000;
}

std::string error_text(int error) {
  return std::generic_category().message(error);
}

// Opens what lies at `path` below `root`, a step at a time, so that no link leads out.
Descriptor open_below(const Descriptor& root, std::string_view path, int flags) {
  constexpr int kAlways = O_RDONLY | O_CLOEXEC | O_NOFOLLOW;
  const auto names = components(path);
  Descriptor at(-1);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const int parent = i == 0 ? root.get() : at.get();
    const int step = i + 1 == names.size() ? flags : O_DIRECTORY;
    at = Descriptor(::openat(parent, names[i].c_str(), kAlways | step));
    if (at.get() < 0) break;
  }
  return at;
}

class Lister {
 public:
  explicit Lister(const Descriptor& root) : root_(&root) {}

  std::vector<StorageFile> list() {
    list_folder(Descriptor(::openat(root_->get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)), "", 1);
    return std::move(files_);
  }

 private:
  void list_folder(Descriptor folder, const std::string& prefix, std::size_t depth) {
    int error = folder.get() < 0 ? errno : 0;
    std::vector<std::string> names;
    if (error == 0) error = read_names(folder, names);
    if (error != 0)
      add(prefix.empty() ? "." : prefix.substr(0, prefix.size() - 1), {}, "cannot be read");
    std::sort(names.begin(), names.end());
    for (const auto& name : names) {
      struct stat info {};
      if (::fstatat(folder.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
        if (errno != ENOENT && name.ends_with(kEnding)) add(prefix + name, info, "cannot be read");
        continue;
      }
      list_entry(folder, prefix, name, info, depth);
    }
  }

  // The error, 0 for none.
  static int read_names(const Descriptor& folder, std::vector<std::string>& names) {
    const int copy = ::fcntl(folder.get(), F_DUPFD_CLOEXEC, 0);
    if (copy < 0) return errno;
    const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(copy), &::closedir);
    if (!stream) {
      const int error = errno;
      ::close(copy);
      return error;
    }
    while (true) {
      errno = 0;
      const dirent* entry = ::readdir(stream.get());
      if (entry == nullptr) return errno;
      const std::string_view name = static_cast<const char*>(entry->d_name);
      if (name != "." && name != ".." && !may_hold_logins(name)) names.emplace_back(name);
    }
  }

  void list_entry(const Descriptor& folder,
                  const std::string& prefix,
                  const std::string& name,
                  const struct stat& info,
                  std::size_t depth) {
    const bool wanted = name.ends_with(kEnding);
    if (S_ISLNK(info.st_mode)) {
      add(prefix + name, info, "a link, not followed");
    } else if (!S_ISDIR(info.st_mode)) {
      if (wanted) add(prefix + name, info, S_ISREG(info.st_mode) ? "" : "not a file");
    } else if (wanted) {
      add(prefix + name, info, "a folder where a file should be");
    } else if (depth == kMaxDepth) {
      add(prefix + name, info, "a folder too deep to be OpenCode's, not read");
    } else {
      constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
      list_folder(
          Descriptor(::openat(folder.get(), name.c_str(), kFlags)), prefix + name + "/", depth + 1);
    }
  }

  void add(std::string path, const struct stat& info, std::string unreadable) {
    StorageFile file = file_at(std::move(path));
    file.modified_ms = modified_ms(info);
    file.bytes = S_ISREG(info.st_mode) ? static_cast<std::uint64_t>(info.st_size) : 0;
    file.unreadable = std::move(unreadable);
    files_.push_back(std::move(file));
  }

  const Descriptor* root_;
  std::vector<StorageFile> files_;
};

// OpenCode removes messages and parts when it reverts: no damage, but worth a word.
constexpr std::string_view kGone = "gone before it was read";

// Reads a file whole into `bytes`; says why not where it cannot.
std::string read_whole(const Descriptor& root, const std::string& path, std::string& bytes) {
  bytes.clear();
  const Descriptor file = open_below(root, path, O_NONBLOCK);
  if (file.get() < 0 && errno == ENOENT) return std::string(kGone);
  struct stat info {};
  if (file.get() < 0 || ::fstat(file.get(), &info) != 0)
    return fmt::format("cannot be read: {}", error_text(errno));
  if (!S_ISREG(info.st_mode)) return "not a file";
  if (static_cast<std::uint64_t>(info.st_size) > kMaxStorageFileBytes)
    return "larger than 1 GiB, not read";
  bytes.resize(static_cast<std::size_t>(info.st_size));
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = ::read(file.get(), bytes.data() + done, bytes.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fmt::format("cannot be read: {}", error_text(errno));
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  bytes.resize(done);
  return {};
}

// ---------------------------------------------------------------- what the bytes are

std::string_view json_text_of(std::string_view raw) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (raw.starts_with(kByteOrderMark)) raw.remove_prefix(kByteOrderMark.size());
  return raw;
}

// True where the text ends inside an object, an array or a string in one.
bool breaks_off(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos || (text[begin] != '{' && text[begin] != '[')) return false;
  std::size_t depth = 0;
  bool in_string = false;
  for (std::size_t at = begin; at < text.size(); ++at) {
    const char c = text[at];
    if (in_string) {
      if (c == '\\') ++at;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']') {
      if (--depth == 0) return false;
    }
  }
  return true;
}

bool is_json_once_repaired(std::string_view text) {
  std::string clean = to_valid_utf8(text);
  std::replace_if(
      clean.begin(), clean.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
  return is_valid_json(clean);
}

struct Verdict {
  std::string what = {};  // "" where nothing is wrong
  bool readable = true;   // under the shape its place gives it
  bool truncated = false;
};

// `record` is what the decoder made of it, by its shape.
Verdict judge(std::string_view raw, Shape shape, const Record& record) {
  const bool state = is_state_shape(shape);
  if (raw.size() > kDecodeLimitBytes)
    return {.what = "above the decode limit of 64 MiB, kept but not read"};
  const auto last = raw.find_last_not_of('\0');
  if (last == std::string_view::npos) return {.what = "only NUL bytes", .readable = false};
  const std::string_view text = json_text_of(raw);
  if (is_valid_json(text)) {
    if (state && record.shape == Shape::Malformed)
      return {.what = "JSON, but no object", .readable = false};
    if ((record.problems & kMalformed) != 0) return {.what = "cannot be read to its end"};
    if (state && std::holds_alternative<std::monostate>(record.body))
      return {.what = record.problem_detail};
    return {};
  }
  if (breaks_off(json_text_of(raw.substr(0, last + 1)))) {
    const bool filled = last + 1 < raw.size();
    return {.what = filled ? "breaks off, then NUL bytes" : "breaks off",
            .readable = false,
            .truncated = true};
  }
  const bool repaired = state && (record.problems & (kRepaired | kMalformed)) == kRepaired;
  if (repaired && is_json_once_repaired(text))
    return {.what = "bad UTF-8 or control characters, read after repair"};
  return {.what = is_valid_utf8(text) ? "not JSON" : "not JSON: bad UTF-8", .readable = false};
}

// Where a record says another identity than its place. The record counts: it is what joins.
std::string_view misplaced(const StorageFile& file, const Record& record) {
  std::string_view id;
  std::string_view message = file.message;
  if (const auto* session = std::get_if<fb::SessionRowT>(&record.body)) id = session->id;
  if (const auto* row = std::get_if<fb::MessageRowT>(&record.body)) id = row->id;
  if (const auto* part = std::get_if<fb::PartRowT>(&record.body)) {
    id = part->id;
    message = part->message;
  }
  if (!id.empty() && id != file.id) return "names another id than its file does";
  if (message != file.message) return "names another message than its folder does";
  if (!file.session.empty() && !record.session.empty() && record.session != file.session)
    return "names another session than its place does";
  return {};
}

// ---------------------------------------------------------------- reading

class TreeReader {
 public:
  TreeReader(Descriptor root, const FrameSink& sink) : root_(std::move(root)), sink_(&sink) {}

  Result<std::vector<StorageProblem>> read() {
    std::vector<StorageFile> files = Lister(root_).list();
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
                 fmt::format("read {}: {}", tree.string(), error_text(errno)));
  }
  return TreeReader(std::move(root), sink).read();
}

}  // namespace respool
