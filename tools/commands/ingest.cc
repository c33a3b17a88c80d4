#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <optional>
#include <sstream>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>
#include <sys/stat.h>

#include "schema/descriptor.h"

#include "engine/model/recorder.h"

#include "ingest/database_sync.h"
#include "ingest/source/storage_tree_source.h"

#include "tools/context.h"
#include "tools/output/ingest_report.h"
#include "tools/output/table.h"

namespace respool {
namespace {

bool is_database(int file) {
  constexpr std::string_view kMagic = "SQLite format 3";
  std::string beginning(kMagic.size(), '\0');
  return ::pread(file, beginning.data(), beginning.size(), 0) >= 0 && beginning == kMagic;
}

// What one `ingest` takes in: paths of any kind, one after the other.
class Intake {
 public:
  Intake(Store& store, Recorder& recorder, IngestOptions options)
      : store_(&store),
        recorder_(&recorder),
        options_(options),
        ingester_(recorder, std::move(options)) {}

  Result<void> take(const std::string& path) {
    bool database = false;
    {
      const Descriptor file(path == "-" ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                                        : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
      struct stat info {};
      if (file.get() < 0 || ::fstat(file.get(), &info) != 0) {
        return Error(errno == ENOENT ? ErrorCode::NotFound : ErrorCode::Io,
                     fmt::format("{}: {}", path, std::generic_category().message(errno)));
      }
      if (S_ISDIR(info.st_mode)) return take_folder(path);
      database = is_database(file.get());
      if (!database) return ingester_.read(file.get(), path == "-" ? "stdin" : path);
    }
    // The file is closed: closing it later would drop the locks SQLite holds on it.
    return take_database(path);
  }

  IngestCounts counts() const {
    IngestCounts sum = databases_;
    add_counts(sum, ingester_.counts());
    return sum;
  }

 private:
  Result<void> take_folder(const std::string& path) {
    if (!is_storage_tree(path)) {
      return Error(ErrorCode::InvalidArgument,
                   fmt::format("{} is a folder, and no storage tree of OpenCode's", path),
                   "name the files in it");
    }
    RESPOOL_TRY(ingester_.start(path));
    RESPOOL_TRY(const auto problems, read_storage_tree(path, [this](const Frame& frame) {
                  return ingester_.take(frame);
                }));
    for (const auto& problem : problems)
      fmt::print(stderr, "respool: {}/{}: {}\n", path, problem.file, problem.what);
    databases_.malformed += problems.size();
    return recorder_->commit();
  }

  Result<void> take_database(const std::string& path) {
    if (path == "-")
      return Error(
          ErrorCode::InvalidArgument, "a database cannot be read from a pipe", "name its file");
    RESPOOL_TRY(const auto report,
                sync_database(*store_,
                              *recorder_,
                              path,
                              {.host = options_.host,
                               .now_ms = options_.now_ms,
                               .stop = options_.stop,
                               .progress = options_.progress,
                               .sessions = {},
                               .again = true}));
    add_counts(databases_, report.counts);
    databases_.malformed += report.problems.size();
    for (const auto& problem : report.problems)
      fmt::print(stderr, "respool: {}: {}\n", path, problem);
    if (!report.foreign_schema.empty())
      fmt::print(
          stderr, "respool: {} is {}; it is read only in part\n", path, report.foreign_schema);
    return ok();
  }

  Store* store_;
  Recorder* recorder_;
  IngestOptions options_;
  Ingester ingester_;
  IngestCounts databases_;
};

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
  Intake intake(*store, *recorder, options);
  const auto start = std::chrono::steady_clock::now();
  std::optional<ExitCode> failed;
  for (const auto& path : arguments.values("PATH")) {
    const auto result = intake.take(path);
    if (!result) {
      // One path that cannot be taken in does not keep the others out; a store that fails does.
      const auto code = result.error().code();
      if (code != ErrorCode::NotFound && code != ErrorCode::InvalidArgument &&
          code != ErrorCode::UnsupportedFormat)
        return result.error();
      context.print_error(result.error());
      if (!failed)
        failed = code == ErrorCode::UnsupportedFormat ? ExitCode::NewerStore : ExitCode::Failed;
    }
    if (intake.counts().interrupted) break;
  }
  RESPOOL_TRY(recorder->finish());
  RESPOOL_TRY(store->close());
  const auto counts = intake.counts();
  print_counts(context,
               counts,
               std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  if (!counts.first_damage.empty()) {
    fmt::print(stderr,
               "respool: {} kept as delivered; the first: {}\n",
               counted(counts.malformed, "damaged record"),
               counts.first_damage);
  }
  for (const auto& problem : counts.problems)
    context.print_error(problem);
  if (counts.refused > counts.problems.size())
    context.remark(fmt::format("{} more like these", counts.refused - counts.problems.size()));
  if (counts.interrupted || stop_requested()) return ExitCode::Interrupted;
  if (failed) return *failed;
  return counts.malformed > 0 || counts.refused > 0 ? ExitCode::No : ExitCode::Done;
}

}  // namespace respool
