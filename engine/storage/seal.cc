#include "engine/storage/seal.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>

#include "schema/digest.h"

namespace respool {
namespace {

namespace fs = std::filesystem;

fs::path seal_path(const fs::path& directory) {
  return directory / "seal";
}

// The seal that was valid before the store was opened for writing.
fs::path previous_path(const fs::path& directory) {
  return directory / "seal.previous";
}

bool is_table(const std::string& name) {
  return name.ends_with(".sst");
}

bool is_sealed(const std::string& name) {
  return is_table(name) || name == "CURRENT" || name.starts_with("MANIFEST-") ||
         name.ends_with(".log");
}

Result<std::string> digest_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return Error(ErrorCode::Io, fmt::format("read {}", path.string()));
  Sha256Hasher hasher;
  std::string block(1 << 16, '\0');
  while (file.read(block.data(), static_cast<std::streamsize>(block.size())) || file.gcount() > 0) {
    hasher.update({block.data(), static_cast<std::size_t>(file.gcount())});
  }
  return to_hex(as_bytes(hasher.finish()));
}

std::string with_digest(const std::string& text) {
  return text + fmt::format("{} seal\n", to_hex(as_bytes(sha256(text))));
}

// What a seal file says above its own digest; nothing where there is none or it was changed.
std::optional<std::string> sealed_text(const fs::path& seal) {
  std::ifstream file(seal, std::ios::binary);
  const std::string sealed{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const auto last_line = sealed.rfind('\n', sealed.size() < 2 ? 0 : sealed.size() - 2);
  std::string text = last_line == std::string::npos ? "" : sealed.substr(0, last_line + 1);
  if (sealed.empty() || with_digest(text) != sealed) return std::nullopt;
  return text;
}

// Digests of tables by "SIZE NAME", as an earlier seal lists them.
using KnownDigests = std::map<std::string, std::string>;

KnownDigests known_digests(const fs::path& seal) {
  KnownDigests known;
  const auto text = sealed_text(seal);
  if (!text) return known;
  std::istringstream lines(*text);
  std::string digest;
  std::string rest;
  while (lines >> digest && std::getline(lines >> std::ws, rest)) {
    if (is_table(rest)) known[rest] = digest;
  }
  return known;
}

Result<std::string> describe(const fs::path& directory, const KnownDigests& known) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory / "db", error)) {
    if (is_sealed(entry.path().filename().string()))
      names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  std::string text;
  for (const auto& name : names) {
    const auto path = directory / "db" / name;
    const std::string file = fmt::format("{} {}", fs::file_size(path, error), name);
    const auto before = known.find(file);
    std::string digest;
    if (before != known.end()) {
      digest = before->second;
    } else {
      RESPOOL_TRY(digest, digest_file(path));
    }
    text += fmt::format("{} {}\n", digest, file);
  }
  return text;
}

// Renames reach the disk with their folder.
void sync_directory(const fs::path& directory) {
  const int folder = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  ::fsync(folder);
  ::close(folder);
}

// The first line in which two descriptions differ, as a file's name.
std::string first_difference(const std::string& sealed, const std::string& found) {
  std::istringstream left(sealed);
  std::istringstream right(found);
  std::string a;
  std::string b;
  while (std::getline(left, a)) {
    if (!std::getline(right, b) || a != b) return a.substr(a.rfind(' ') + 1);
  }
  std::getline(right, b);
  return b.substr(b.rfind(' ') + 1);
}

}  // namespace

Result<void> write_seal(const fs::path& directory) {
  RESPOOL_TRY(const auto text, describe(directory, known_digests(previous_path(directory))));
  const std::string sealed = with_digest(text);
  const auto incomplete = directory / "seal.incomplete";
  const int file = ::open(incomplete.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  const bool written =
      file >= 0 &&
      ::write(file, sealed.data(), sealed.size()) == static_cast<ssize_t>(sealed.size()) &&
      ::fsync(file) == 0;
  if (file >= 0) ::close(file);
  std::error_code error;
  if (written) fs::rename(incomplete, seal_path(directory), error);
  if (!written || error)
    return Error(ErrorCode::Io, fmt::format("write {}", seal_path(directory).string()));
  fs::remove(previous_path(directory), error);
  sync_directory(directory);
  return ok();
}

Result<void> break_seal(const fs::path& directory) {
  std::error_code error;
  if (!fs::exists(seal_path(directory), error)) return ok();
  fs::rename(seal_path(directory), previous_path(directory), error);
  if (error)
    return Error(ErrorCode::Io, fmt::format("set aside {}", seal_path(directory).string()));
  sync_directory(directory);
  return ok();
}

Result<SealState> check_seal(const fs::path& directory) {
  const auto is_there = [&] { return fs::exists(seal_path(directory)); };
  if (!is_there()) return SealState::Absent;
  const auto text = sealed_text(seal_path(directory));
  RESPOOL_TRY(const auto found, describe(directory, {}));
  if (text == found) return SealState::Whole;
  // A writer that opened the store meanwhile took the seal away before it changed anything.
  if (!is_there()) return SealState::Absent;
  if (!text) {
    return Error(ErrorCode::Corruption,
                 fmt::format("{}: the seal itself was changed", seal_path(directory).string()));
  }
  return Error(ErrorCode::Corruption,
               fmt::format("{}: changed since the store was closed",
                           (directory / "db" / first_difference(*text, found)).string()),
               "restore the file from a backup");
}

}  // namespace respool
