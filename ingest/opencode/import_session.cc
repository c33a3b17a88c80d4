#include "ingest/opencode/import_session.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>

#include "schema/descriptor.h"
#include "schema/opencode/plain_text.h"

#include "ingest/process/child_process.h"

namespace respool {
namespace {

namespace fs = std::filesystem;

// A file of its own for the content, gone with the object.
class TemporaryFile {
 public:
  static Result<TemporaryFile> write(std::string_view content) {
    std::error_code error;
    std::string path = (fs::temp_directory_path(error) / "respool-import-XXXXXX.json").string();
    constexpr int kSuffix = 5;
    const Descriptor file(::mkostemps(path.data(), kSuffix, O_CLOEXEC));  // mode 0600
    if (file.get() < 0) return failed("be made");
    TemporaryFile temporary(path);
    while (!content.empty()) {
      const auto written = ::write(file.get(), content.data(), content.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return failed("be written");
      content.remove_prefix(static_cast<std::size_t>(written));
    }
    return temporary;
  }
  ~TemporaryFile() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }
  TemporaryFile(TemporaryFile&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  TemporaryFile& operator=(TemporaryFile&&) = delete;
  const std::string& path() const { return path_; }

 private:
  explicit TemporaryFile(std::string path) : path_(std::move(path)) {}
  static Error failed(std::string_view what) {
    return Error(ErrorCode::Io,
                 fmt::format("a temporary file cannot {}: {}", what, std::strerror(errno)),
                 "set TMPDIR to a folder with space");
  }
  std::string path_;
};

// The last of what the program said.
class Tail {
 public:
  void add(std::string_view bytes) {
    constexpr std::size_t kTailBytes = 600;
    text_ += bytes;
    if (text_.size() > 2 * kTailBytes) text_.erase(0, text_.size() - kTailBytes);
  }
  std::string words() const { return one_line(text_); }

 private:
  std::string text_;
};

}  // namespace

Result<void> import_session(const ImportRequest& request) {
  RESPOOL_TRY(const auto file, TemporaryFile::write(request.content));
  ChildCommand command{.program = request.program,
                       .arguments = {"import", file.path()},
                       .directory = request.directory,
                       .environment = request.environment,
                       .input = {}};
  // A shell's idea of where it is would move OpenCode's workspace there.
  set_variable(command.environment, "PWD", std::nullopt);
  set_variable(command.environment, "OLDPWD", std::nullopt);
  Tail said;
  const auto deadline = std::chrono::steady_clock::now() + request.limit;
  const auto interrupted = [&] {
    return request.interrupted != nullptr && request.interrupted->load();
  };
  const ChildEvents events{
      .on_stdout = [&](std::string_view bytes) { said.add(bytes); },
      .on_stderr = [&](std::string_view bytes) { said.add(bytes); },
      .keep_going = [&] { return !interrupted() && std::chrono::steady_clock::now() < deadline; }};
  RESPOOL_TRY(const auto end, run_guarded(command, events));
  if (interrupted()) return Error(ErrorCode::Interrupted, "opencode import was interrupted");
  if (end.stopped) {
    return Error(
        ErrorCode::Io,
        fmt::format("opencode import did not end within {} s",
                    std::chrono::duration_cast<std::chrono::seconds>(request.limit).count()));
  }
  if (end.exit == 0) return ok();
  return Error(ErrorCode::Io,
               fmt::format("opencode import {}: {}",
                           end.exit ? fmt::format("ended with exit code {}", *end.exit)
                                    : fmt::format("died of signal {}", end.signal),
                           said.words()));
}

}  // namespace respool
