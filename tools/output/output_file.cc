#include "tools/output/output_file.h"

#include <cerrno>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>

namespace respool {
namespace {

Error io_error(const std::string& name) {
  return Error(ErrorCode::Io, fmt::format("{}: {}", name, std::generic_category().message(errno)));
}

}  // namespace

Result<void> write_fully(int file, std::string_view bytes, const std::string& name) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return io_error(name);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return ok();
}

Result<OutputFile> OutputFile::create(const std::filesystem::path& path, bool replace) {
  struct stat info {};
  const bool there = ::lstat(path.c_str(), &info) == 0;
  if (there && S_ISDIR(info.st_mode))
    return Error(ErrorCode::InvalidArgument, fmt::format("{} is a folder", path.string()));
  if (there && !replace)
    return Error(ErrorCode::InvalidArgument,
                 fmt::format("{} is there already", path.string()),
                 "name another file, or add --force");
  std::filesystem::path incomplete = path;
  incomplete += ".incomplete";
  Descriptor file(
      ::open(incomplete.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR));
  if (file.get() < 0) return io_error(incomplete.string());
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0)
    return Error(ErrorCode::StoreBusy,
                 fmt::format("{} is being written by another process", incomplete.string()),
                 "wait for it");
  // Whoever wrote it before us may have finished between our open and our lock.
  struct stat named {};
  if (::fstat(file.get(), &info) != 0) return io_error(incomplete.string());
  if (::lstat(incomplete.c_str(), &named) != 0 || named.st_ino != info.st_ino)
    return Error(ErrorCode::StoreBusy,
                 fmt::format("{} was just written by another process", path.string()),
                 "try again");
  if (::ftruncate(file.get(), 0) != 0) return io_error(incomplete.string());
  return OutputFile(path, std::move(incomplete), std::move(file));
}

OutputFile::~OutputFile() {
  if (file_.get() >= 0) ::unlink(incomplete_.c_str());
}

Result<void> OutputFile::write(std::string_view bytes) {
  return write_fully(file_.get(), bytes, incomplete_.string());
}

Result<void> OutputFile::finish() {
  if (::fsync(file_.get()) != 0) return io_error(incomplete_.string());
  if (::rename(incomplete_.c_str(), path_.c_str()) != 0) return io_error(path_.string());
  file_ = Descriptor(-1);
  const auto folder = path_.has_parent_path() ? path_.parent_path() : std::filesystem::path(".");
  const Descriptor parent(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (parent.get() < 0 || ::fsync(parent.get()) != 0) return io_error(folder.string());
  return ok();
}

}  // namespace respool
