#include <chrono>

#include <fmt/format.h>

#include "ingest/database_sync.h"
#include "ingest/opencode/runtime.h"
#include "ingest/process/child_process.h"

#include "tools/context.h"
#include "tools/output/ingest_report.h"
#include "tools/output/table.h"

namespace respool {
namespace {

void tell(const Context& context, const std::string& database, const DatabaseSyncReport& report) {
  if (report.unchanged) context.remark(fmt::format("{}: nothing new", database));
  if (!report.foreign_schema.empty()) {
    fmt::print(
        stderr,
        "respool: {} is {}: its rows are kept, and read only in part; \"respool gaps\" lists "
        "them as foreign_schema\n",
        database,
        report.foreign_schema);
  }
  for (const auto& problem : report.problems)
    fmt::print(stderr, "respool: {}: {}\n", database, problem);
  if (!report.gone.empty()) {
    context.remark(fmt::format("{}: {} no longer there; their record is kept",
                               database,
                               counted(report.gone.size(), "session")));
  }
}

}  // namespace

Result<ExitCode> run_sync(const Arguments& arguments, Context& context) {
  const auto environment = own_environment();
  std::vector<std::filesystem::path> databases = opencode_databases(environment);
  if (arguments.has("db")) databases = {arguments.value("db")};
  if (databases.empty()) {
    return Error(ErrorCode::NotFound,
                 fmt::format("there is no OpenCode database in {}",
                             opencode_data_folder(environment).string()),
                 "name one with --db PATH");
  }
  if (!context.captures()) {
    context.remark("RESPOOL_CAPTURE is off: nothing is taken in");
    return ExitCode::Done;
  }
  watch_for_interrupts();
  Progress progress(!context.json() && !context.quiet());
  RESPOOL_TRY(const auto store, context.open_for_writing("sync"));
  RESPOOL_TRY(const auto recorder, Recorder::open(*store));
  RESPOOL_TRY(context.drain(*store, *recorder));
  const auto start = std::chrono::steady_clock::now();
  IngestCounts counts;
  bool whole = true;
  for (const auto& database : databases) {
    DatabaseSyncOptions options{
        .host = arguments.value("host", context.host()),
        .now_ms = now_ms,
        .stop = &stop_requested(),
        .progress = [&progress](std::uint64_t bytes) { progress.update(bytes); },
        .sessions = {},
        .again = arguments.has("again")};
    if (!context.excluded_directories().empty())
      options.captures = [&context](const std::string& directory) {
        return context.captures(directory);
      };
    const auto report = sync_database(*store, *recorder, database, options);
    if (!report) {
      // One database that cannot be read does not keep the others out.
      const auto code = report.error().code();
      if (databases.size() == 1 || code == ErrorCode::Interrupted) return report.error();
      context.print_error(report.error());
      whole = false;
      continue;
    }
    add_counts(counts, report.value().counts);
    whole &= report.value().problems.empty() && report.value().foreign_schema.empty();
    tell(context, database.string(), report.value());
  }
  RESPOOL_TRY(recorder->finish());
  RESPOOL_TRY(store->close());
  print_counts(context,
               counts,
               std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  if (stop_requested()) return ExitCode::Interrupted;
  return whole && counts.malformed == 0 ? ExitCode::Done : ExitCode::No;
}

}  // namespace respool
