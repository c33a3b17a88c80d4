#include "engine/spool/spool_file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <fstream>
#include <iterator>
#include <system_error>

#include <unistd.h>

#include <fmt/format.h>
#include <sys/stat.h>

#include "schema/digest.h"

namespace respool {
namespace {

namespace fs = std::filesystem;

// A writer whose namespace we cannot see into is taken for dead after a week without a byte.
constexpr std::int64_t kForeignSilenceMs = 7LL * 24 * 3600 * 1000;

std::string first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::string process_namespace() {
  std::error_code error;
  const std::string link = fs::read_symlink("/proc/self/ns/pid", error).string();
  const auto open = link.find('[');
  const auto close = link.find(']');
  if (open == std::string::npos || close == std::string::npos) return "0";
  return link.substr(open + 1, close - open - 1);
}

std::optional<std::uint64_t> number_of(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  return whole ? std::optional(number) : std::nullopt;
}

bool is_recording_id(std::string_view id) {
  constexpr std::size_t kMaxBytes = 96;
  return !id.empty() && id.size() <= kMaxBytes &&
         std::all_of(id.begin(), id.end(), [](unsigned char c) {
           return std::isalnum(c) != 0 || c == '-' || c == '_';
         });
}

}  // namespace

// Field 22 of /proc/PID/stat. The second field is a name that may hold anything, in parentheses.
std::optional<std::uint64_t> process_start_time(std::uint64_t pid) {
  const std::string stat = first_line(fmt::format("/proc/{}/stat", pid));
  const auto name_end = stat.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::string_view rest = std::string_view(stat).substr(name_end + 1);
  constexpr int kFieldsBetween = 20;  // field 3 follows the name
  for (int field = 0; field < kFieldsBetween; ++field) {
    const auto space = rest.find(' ');
    if (space == std::string_view::npos) return std::nullopt;
    rest.remove_prefix(space + 1);
  }
  std::uint64_t time = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), time);
  return error == std::errc{} ? std::optional(time) : std::nullopt;
}

WriterIdentity this_process() {
  const auto pid = static_cast<std::uint64_t>(::getpid());
  const std::string boot = first_line("/proc/sys/kernel/random/boot_id");
  return {.pid = pid,
          .start_time = process_start_time(pid).value_or(0),
          .boot = boot.empty() ? "none" : fmt::format("{}-{}", boot, process_namespace())};
}

Liveness liveness_of(const WriterIdentity& writer) {
  const WriterIdentity here = this_process();
  const auto boot_id = [](const std::string& boot) { return boot.substr(0, boot.rfind('-')); };
  if (here.boot == "none" || writer.boot == "none") {
    const bool gone = ::kill(static_cast<pid_t>(writer.pid), 0) != 0 && errno == ESRCH;
    return gone ? Liveness::Dead : Liveness::Alive;
  }
  if (boot_id(writer.boot) != boot_id(here.boot)) return Liveness::Dead;
  if (writer.boot != here.boot) return Liveness::Unknown;
  const auto start_time = process_start_time(writer.pid);
  return start_time == writer.start_time ? Liveness::Alive : Liveness::Dead;
}

bool SpoolFile::ended() const {
  if (done) return true;
  switch (liveness_of(writer)) {
    case Liveness::Alive:
      return false;
    case Liveness::Dead:
      return true;
    case Liveness::Unknown:
      break;
  }
  const auto now = std::chrono::duration_cast<std::chrono::milliseconds>(
                       std::chrono::system_clock::now().time_since_epoch())
                       .count();
  return now - modified_ms > kForeignSilenceMs;
}

std::string spool_file_name(std::string_view id, const WriterIdentity& writer, bool done) {
  return fmt::format(
      "{}.{}.{}.{}.{}", id, writer.pid, writer.start_time, writer.boot, done ? "done" : "open");
}

std::optional<SpoolFile> parse_spool_file_name(const fs::path& path) {
  const std::string name = path.filename().string();
  std::array<std::string_view, 5> fields;
  std::string_view rest = name;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const auto dot = i + 1 == fields.size() ? rest.size() : rest.find('.');
    if (dot == std::string_view::npos) return std::nullopt;
    fields[i] = rest.substr(0, dot);
    rest.remove_prefix(std::min(dot + 1, rest.size()));
  }
  const auto pid = number_of(fields[1]);
  const auto start_time = number_of(fields[2]);
  const bool named = is_recording_id(fields[0]) && pid && start_time && is_recording_id(fields[3]);
  if (!named || (fields[4] != "open" && fields[4] != "done")) return std::nullopt;
  SpoolFile file;
  file.path = path;
  file.id = fields[0];
  file.writer = {*pid, *start_time, std::string(fields[3])};
  file.done = fields[4] == "done";
  return file;
}

std::vector<SpoolFile> list_spool(const std::vector<fs::path>& folders) {
  std::vector<SpoolFile> files;
  for (const auto& folder : folders) {
    std::error_code error;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
         entry.increment(error)) {
      auto file = parse_spool_file_name(entry->path());
      struct stat info {};
      // A symbolic link in the spool is nobody's recording.
      if (!file || ::lstat(file->path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) continue;
      file->bytes = static_cast<std::uint64_t>(info.st_size);
      file->modified_ms = info.st_mtim.tv_sec * 1000LL + info.st_mtim.tv_nsec / 1'000'000;
      files.push_back(std::move(*file));
    }
  }
  std::sort(files.begin(), files.end(), [](const SpoolFile& a, const SpoolFile& b) {
    return a.id < b.id;
  });
  return files;
}

std::string new_recording_id(std::string_view source, std::int64_t now_ms) {
  constexpr std::size_t kRandomBytes = 8;
  return fmt::format("{:013}-{}-{}", now_ms, source, to_hex(random_bytes(kRandomBytes)));
}

Result<void> make_private_folder(const fs::path& folder) {
  std::error_code error;
  if (fs::is_directory(folder, error)) return ok();
  fs::create_directories(folder.parent_path(), error);
  if (::mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST) {
    if (fs::is_directory(folder, error)) return ok();
    errno = ENOTDIR;
  }
  return Error(ErrorCode::Io,
               fmt::format("make {}: {}", folder.string(), std::generic_category().message(errno)),
               "check the permissions of the folder above it");
}

}  // namespace respool
