#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <sstream>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>
#include <sys/stat.h>

#include "engine/model/recorder.h"

#include "ingest/ingester.h"

#include "tools/context.h"
#include "tools/output/ingest_report.h"
#include "tools/output/table.h"

namespace respool {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int file) : file_(file) {}
  ~Descriptor() {
    if (file_ > STDERR_FILENO) ::close(file_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return file_; }

 private:
  int file_;
};

// A database is no recording: its pages would only fill the log with noise.
Result<void> refuse_database(int file, const std::string& path) {
  constexpr std::string_view kMagic = "SQLite format 3";
  std::string beginning(kMagic.size(), '\0');
  if (::pread(file, beginning.data(), beginning.size(), 0) < 0 || beginning != kMagic) return ok();
  return Error(ErrorCode::InvalidArgument,
               fmt::format("{} is a database, which this build does not read yet", path),
               "opencode export SESSION | respool ingest -");
}

Result<void> ingest_path(Ingester& ingester, const std::string& path) {
  const Descriptor file(path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat info {};
  if (file.get() < 0 || ::fstat(file.get(), &info) != 0) {
    return Error(errno == ENOENT ? ErrorCode::NotFound : ErrorCode::Io,
                 fmt::format("{}: {}", path, std::generic_category().message(errno)));
  }
  if (S_ISDIR(info.st_mode)) {
    return Error(
        ErrorCode::InvalidArgument, fmt::format("{} is a folder", path), "name the files in it");
  }
  RESPOOL_TRY(refuse_database(file.get(), path));
  return ingester.read(file.get(), path == "-" ? "stdin" : path);
}

}  // namespace

Result<ExitCode> run_ingest(const Arguments& arguments, Context& context) {
  IngestOptions options;
  options.host = arguments.value("host");
  options.run = arguments.value("run");
  options.now_ms = now_ms;
  options.stop = &stop_requested();
  if (arguments.has("prompt-file")) {
    std::ifstream file(arguments.value("prompt-file"), std::ios::binary);
    if (!file)
      return Error(ErrorCode::NotFound,
                   fmt::format("{}: cannot be read", arguments.value("prompt-file")));
    options.prompt =
        std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  Progress progress(!context.json() && !context.quiet());
  options.progress = [&progress](std::uint64_t bytes) { progress.update(bytes); };

  watch_for_interrupts();
  RESPOOL_TRY(const auto store, context.open_for_writing("ingest"));
  RESPOOL_TRY(const auto recorder, Recorder::open(*store));
  RESPOOL_TRY(context.drain(*store, *recorder));
  Ingester ingester(*recorder, options);
  const auto start = std::chrono::steady_clock::now();
  bool failed = false;
  for (const auto& path : arguments.values("PATH")) {
    const auto result = ingest_path(ingester, path);
    if (!result) {
      // One path that cannot be opened does not keep the others out; a store that fails does.
      if (result.error().code() != ErrorCode::NotFound &&
          result.error().code() != ErrorCode::InvalidArgument)
        return result.error();
      context.print_error(result.error());
      failed = true;
    }
    if (ingester.counts().interrupted) break;
  }
  RESPOOL_TRY(recorder->finish());
  RESPOOL_TRY(store->close());
  const auto& counts = ingester.counts();
  print_counts(context,
               counts,
               std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  if (!counts.first_damage.empty()) {
    fmt::print(stderr,
               "respool: {} kept as delivered; the first: {}\n",
               counted(counts.malformed, "damaged record"),
               counts.first_damage);
  }
  if (counts.interrupted || stop_requested()) return ExitCode::Interrupted;
  if (failed) return ExitCode::Failed;
  return counts.malformed > 0 ? ExitCode::No : ExitCode::Done;
}

}  // namespace respool
