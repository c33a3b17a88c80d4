#include "ingest/output_files.h"

#include <cerrno>
#include <filesystem>
#include <optional>

#include <fcntl.h>
#include <unistd.h>

#include <sys/stat.h>

namespace respool {
namespace {

bool is_saved_output(const std::filesystem::path& path) {
  const auto folder = path.parent_path();
  return path.is_absolute() && path.lexically_normal() == path &&
         path.filename().string().starts_with("tool_") && folder.filename() == "tool-output" &&
         folder.parent_path().filename() == "opencode";
}

struct SavedOutput {
  std::string bytes;
  std::int64_t modified_ms = 0;
};

// Nothing where it is gone, too large, or no plain file.
std::optional<SavedOutput> read_output(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0) return std::nullopt;
  SavedOutput output;
  struct stat info {};
  bool good = ::fstat(file, &info) == 0 && S_ISREG(info.st_mode) &&
              static_cast<std::uint64_t>(info.st_size) <= kMaxOutputFileBytes;
  if (good) output.bytes.resize(static_cast<std::size_t>(info.st_size));
  std::size_t done = 0;
  while (good && done < output.bytes.size()) {
    const ssize_t got = ::read(file, output.bytes.data() + done, output.bytes.size() - done);
    if (got < 0 && errno == EINTR) continue;
    good = got > 0;
    if (good) done += static_cast<std::size_t>(got);
  }
  ::close(file);
  output.modified_ms = info.st_mtim.tv_sec * 1000LL + info.st_mtim.tv_nsec / 1'000'000;
  return good ? std::optional(std::move(output)) : std::nullopt;
}

}  // namespace

Result<void> take_output_files(Ingester& ingester,
                               const std::set<std::pair<std::string, std::string>>& files) {
  for (const auto& [session, path] : files) {
    if (!is_saved_output(path)) continue;
    const auto output = read_output(path);
    if (!output) continue;
    Frame frame;
    frame.raw = output->bytes;
    frame.shape = Shape::OutputFile;
    frame.name = path;
    frame.session = session;
    frame.as_of_ms = output->modified_ms;
    RESPOOL_TRY(ingester.take(frame));
  }
  return ok();
}

}  // namespace respool
