#include "ingest/source/storage_tree_files.h"

#include <algorithm>
#include <cerrno>
#include <tuple>

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>
#include <sys/stat.h>

#include "schema/ids.h"
#include "schema/opencode/json_text.h"
#include "schema/opencode/utf8.h"

#include "ingest/source/storage_tree_source.h"

namespace respool::storage_tree {
namespace {

constexpr std::string_view kEnding = ".json";
// OpenCode's own files lie three deep.
constexpr std::size_t kMaxDepth = 16;

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

}  // namespace

std::vector<StorageFile> list_files(const Descriptor& root) {
  return Lister(root).list();
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

}  // namespace respool::storage_tree
