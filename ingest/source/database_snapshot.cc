#include "ingest/source/database_snapshot.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <system_error>

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <fmt/format.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

namespace respool {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kNanos = 1'000'000'000;
// File times advance with the kernel's tick, 1 to 10 ms: wait for more than that.
constexpr std::int64_t kSettleNs = 100'000'000;
constexpr std::array<std::string_view, 3> kParts = {"", "-wal", "-journal"};

std::int64_t now_ns() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

fs::path part(const fs::path& database, std::string_view ending) {
  fs::path file = database;
  file += ending;
  return file;
}

Error io_error(std::string_view action, const fs::path& file) {
  return Error(
      errno == ENOENT ? ErrorCode::NotFound : ErrorCode::Io,
      fmt::format("{} {}: {}", action, file.string(), std::generic_category().message(errno)));
}

std::array<FileStamp, kParts.size()> stamps(const fs::path& database) {
  std::array<FileStamp, kParts.size()> found;
  for (std::size_t i = 0; i < kParts.size(); ++i)
    found[i] = FileStamp::of(part(database, kParts[i]));
  return found;
}

// A descriptor that closes itself.
struct File {
  explicit File(int opened) : handle(opened) {}
  ~File() {
    if (handle >= 0) ::close(handle);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  int handle;
};

// True at the end of `from`; what did not work leaves errno.
bool copy_bytes(int from, int to) {
  if (::ioctl(to, FICLONE, from) == 0) return true;
  ssize_t moved = 0;
  do {
    moved = ::copy_file_range(from, nullptr, to, nullptr, std::size_t{1} << 30, 0);
  } while (moved > 0 || (moved < 0 && errno == EINTR));
  if (moved == 0 && ::lseek(to, 0, SEEK_CUR) == ::lseek(from, 0, SEEK_END)) return true;
  if (::lseek(from, 0, SEEK_SET) < 0 || ::lseek(to, 0, SEEK_SET) < 0) return false;
  std::string buffer(std::size_t{1} << 20, '\0');
  while (true) {
    const ssize_t got = ::read(from, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got == 0;
    for (ssize_t at = 0; at < got;) {
      const ssize_t put = ::write(
          to, buffer.data() + at, static_cast<std::size_t>(got) - static_cast<std::size_t>(at));
      if (put < 0 && errno != EINTR) return false;
      if (put > 0) at += put;
    }
  }
}

Result<void> copy_part(const fs::path& from, const fs::path& to) {
  const File source(::open(from.c_str(), O_RDONLY | O_CLOEXEC));
  if (source.handle < 0) return io_error("read", from);
  const File target(::open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (target.handle < 0) return io_error("make", to);
  if (!copy_bytes(source.handle, target.handle)) return io_error("copy to", to);
  return ok();
}

}  // namespace

FileStamp FileStamp::of(const fs::path& file) {
  struct stat found {};
  FileStamp stamp;
  if (::stat(file.c_str(), &found) != 0) return stamp;
  stamp.exists = true;
  stamp.inode = found.st_ino;
  stamp.bytes = static_cast<std::uint64_t>(found.st_size);
  stamp.written_ns = found.st_mtim.tv_sec * kNanos + found.st_mtim.tv_nsec;
  return stamp;
}

bool FileStamp::settled() const {
  const std::int64_t age = now_ns() - written_ns;
  return !exists || age < 0 || age >= kSettleNs;
}

std::vector<fs::path> databases_in(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    const bool channel = name.starts_with("opencode-") && name.ends_with(".db") && name.size() > 12;
    std::error_code unreadable;
    if ((name == "opencode.db" || channel) && entry->is_regular_file(unreadable))
      found.push_back(entry->path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

Result<std::string> database_signature(const fs::path& database) {
  std::error_code error;
  const fs::path real = fs::canonical(database, error);
  if (error) {
    errno = error.value();
    return io_error("find", database);
  }
  const auto files = stamps(real);
  if (!files.front().exists) return io_error("find", real);
  std::string signature;
  bool settled = true;
  for (std::size_t i = 0; i < kParts.size(); ++i) {
    const FileStamp& stamp = files[i];
    settled = settled && stamp.settled();
    if (!stamp.exists || (i > 0 && stamp.bytes == 0)) continue;
    signature +=
        fmt::format("db{}:{:x}:{:x}:{:x} ", kParts[i], stamp.inode, stamp.bytes, stamp.written_ns);
  }
  if (settled) {
    signature.pop_back();
  } else {
    signature += fmt::format("unsettled:{:x}", now_ns());
  }
  return signature;
}

DatabaseAccess database_access(const fs::path& database) {
  const auto [main, wal, journal] = stamps(database);
  if (journal.exists && journal.bytes > 0) return DatabaseAccess::InPlace;
  if (wal.exists && FileStamp::of(part(database, "-shm")).exists) return DatabaseAccess::InPlace;
  return wal.bytes > 0 ? DatabaseAccess::Copy : DatabaseAccess::Immutable;
}

Result<DatabaseCopy> DatabaseCopy::make(const fs::path& database, const fs::path& scratch) {
  const auto changing = [&] {
    return Error(ErrorCode::StoreBusy,
                 fmt::format("{} changes while it is copied", database.string()),
                 "wait until OpenCode is done, then try again");
  };
  const auto before = stamps(database);
  for (const FileStamp& stamp : before) {
    if (!stamp.settled()) return changing();
  }
  std::error_code error;
  fs::create_directories(scratch, error);
  std::string pattern = (scratch / "database-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) return io_error("make a folder in", scratch);
  DatabaseCopy copy{fs::path(pattern)};
  for (std::size_t i = 0; i < kParts.size(); ++i) {
    if (!before[i].exists) continue;
    RESPOOL_TRY(copy_part(part(database, kParts[i]), part(copy.database(), kParts[i])));
  }
  if (stamps(database) != before) return changing();
  return copy;
}

DatabaseCopy::~DatabaseCopy() {
  std::error_code error;
  if (!folder_.empty()) fs::remove_all(folder_, error);
}

namespace {

constexpr std::string_view kMarksFormat = "respool-marks-1\n";

void put(std::string& out, std::uint64_t number) {
  for (int shift = 0; shift < 64; shift += 8)
    out.push_back(static_cast<char>(number >> shift & 0xFF));
}

std::optional<std::uint64_t> take(std::string_view& bytes) {
  if (bytes.size() < 8) return std::nullopt;
  std::uint64_t number = 0;
  for (std::size_t i = 8; i-- > 0;)
    number = number << 8 | static_cast<unsigned char>(bytes[i]);
  bytes.remove_prefix(8);
  return number;
}

// One table's mark, off the front of `bytes`; false where they break off.
bool take_mark(std::string_view& bytes, TableMarks& marks) {
  const auto name_bytes = take(bytes);
  if (!name_bytes || *name_bytes > bytes.size()) return false;
  TableMark& mark = marks[std::string(bytes.substr(0, *name_bytes))];
  bytes.remove_prefix(*name_bytes);
  const auto columns = take(bytes);
  const auto last_rowid = take(bytes);
  const auto last_row = take(bytes);
  const auto blocks = take(bytes);
  if (!blocks || *blocks > bytes.size() / 16) return false;
  mark.columns = *columns;
  mark.last_rowid = static_cast<std::int64_t>(*last_rowid);
  mark.last_row = *last_row;
  for (std::uint64_t i = 0; i < *blocks; ++i) {
    const auto block = take(bytes);
    mark.digests[static_cast<std::int64_t>(*block)] = *take(bytes);
  }
  return true;
}

}  // namespace

std::string encode_marks(const TableMarks& marks) {
  std::string out(kMarksFormat);
  for (const auto& [name, mark] : marks) {
    put(out, name.size());
    out += name;
    put(out, mark.columns);
    put(out, static_cast<std::uint64_t>(mark.last_rowid));
    put(out, mark.last_row);
    put(out, mark.digests.size());
    for (const auto& [block, digest] : mark.digests) {
      put(out, static_cast<std::uint64_t>(block));
      put(out, digest);
    }
  }
  return out;
}

TableMarks decode_marks(std::string_view bytes) {
  if (!bytes.starts_with(kMarksFormat)) return {};
  bytes.remove_prefix(kMarksFormat.size());
  TableMarks marks;
  while (!bytes.empty()) {
    if (!take_mark(bytes, marks)) return {};
  }
  return marks;
}

}  // namespace respool
