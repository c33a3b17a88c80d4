#include "engine/storage/owner_file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <system_error>
#include <thread>

#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>
#include <sys/file.h>
#include <sys/vfs.h>

namespace respool {
namespace {

Error io_error(const std::filesystem::path& path, std::string_view action) {
  return Error(
      ErrorCode::Io,
      fmt::format("{} {}: {}", action, path.string(), std::generic_category().message(errno)),
      "check the permissions of the store's folder");
}

std::string read_owner(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line.empty() ? "another process" : line;
}

}  // namespace

Result<int> take_owner_file(const std::filesystem::path& directory,
                            std::chrono::milliseconds wait,
                            const std::string& description) {
  const auto path = directory / "owner";
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) return io_error(path, "open");
  const auto deadline = std::chrono::steady_clock::now() + wait;
  constexpr std::chrono::milliseconds kPause{20};
  while (::flock(file, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) {
      const Error error = io_error(path, "lock");
      ::close(file);
      return error;
    }
    if (std::chrono::steady_clock::now() >= deadline) {
      ::close(file);
      return Error(ErrorCode::StoreBusy,
                   fmt::format("{} is being written by {}", directory.string(), read_owner(path)),
                   "wait for it, or pass --wait SECONDS");
    }
    std::this_thread::sleep_for(kPause);
  }
  const std::string line = description + "\n";
  if (::ftruncate(file, 0) != 0 || ::pwrite(file, line.data(), line.size(), 0) < 0) {
    const Error error = io_error(path, "write");
    ::close(file);
    return error;
  }
  return file;
}

Result<void> refuse_network_file_system(const std::filesystem::path& directory) {
  // From linux/magic.h and the file systems' own sources: NFS, SMB, CIFS, SMB2, AFS, Ceph, Coda.
  constexpr std::array<std::uint64_t, 7> kNetworkTypes = {
      0x6969, 0x517B, 0xFF534D42, 0xFE534D42, 0x5346414F, 0x00C36400, 0x73757245};
  struct statfs info {};
  if (::statfs(directory.c_str(), &info) != 0) return io_error(directory, "inspect");
  const auto type = static_cast<std::uint64_t>(info.f_type) & 0xFFFFFFFF;
  if (std::find(kNetworkTypes.begin(), kNetworkTypes.end(), type) == kNetworkTypes.end())
    return ok();
  return Error(ErrorCode::Io,
               fmt::format("{} is on a network file system, whose locks cannot be trusted",
                           directory.string()),
               "put the store on a local disk with --store DIR");
}

}  // namespace respool
