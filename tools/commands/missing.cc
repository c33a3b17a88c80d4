#include <system_error>

#include <fmt/format.h>

#include "engine/storage/scratch_directory.h"

#include "ingest/opencode/runtime.h"
#include "ingest/process/child_process.h"
#include "ingest/source/database_source.h"
#include "query/views/missing_view.h"

#include "tools/context.h"
#include "tools/output/json_writer.h"
#include "tools/output/table.h"

namespace respool {
namespace {

namespace fs = std::filesystem;

// The sessions in OpenCode's databases and old files, as they are now.
OpenCodeHoldings holdings_of(const Context& context) {
  OpenCodeHoldings holdings;
  const auto environment = own_environment();
  const ScratchDirectory scratch;
  for (const auto& path : opencode_databases(environment)) {
    if (holdings.main_database.empty()) holdings.main_database = path.string();
    const auto source = DatabaseSource::open(path, scratch.path());
    const auto sessions = source ? source.value()->session_ids() : source.error();
    if (!sessions) {
      context.remark(
          fmt::format("{} cannot be read: {}", path.string(), sessions.error().message()));
      continue;
    }
    holdings.databases[path.string()] = {sessions.value().begin(), sessions.value().end()};
  }
  const auto tree = opencode_data_folder(environment) / "storage" / "session";
  std::error_code error;
  for (fs::recursive_directory_iterator entry(tree, error), end; !error && entry != end;
       entry.increment(error)) {
    const auto& path = entry->path();
    if (path.extension() == ".json" && is_session_id(path.stem().string()))
      holdings.storage_tree[path.stem().string()] = path.string();
  }
  return holdings;
}

}  // namespace

Result<ExitCode> run_missing(const Arguments& arguments, Context& context) {
  RESPOOL_TRY(const auto filter, context.filter(arguments, arguments.value("SESSION")));
  RESPOOL_TRY(const auto store, context.open_for_reading());
  if (!store) return ExitCode::Done;
  RESPOOL_TRY(
      const auto lines,
      list_missing(
          StoreReader(*store), filter, {context.here(), context.host()}, holdings_of(context)));
  Table table({"SESSION", "KIND", "AFTER", "BEFORE", "EVIDENCE"});
  for (const auto& line : lines) {
    if (context.json()) {
      fmt::print("{}\n",
                 JsonObject("respool.missing/1")
                     .text("session", line.session)
                     .text("kind", line.kind)
                     .time("after", line.after_ms)
                     .time("before", line.before_ms)
                     .text("evidence", line.evidence)
                     .known_text("next", line.next)
                     .str());
    } else {
      table.add({line.session,
                 line.kind,
                 line.after_ms ? short_time(*line.after_ms) : "",
                 line.before_ms ? short_time(*line.before_ms) : "",
                 line.evidence});
    }
  }
  table.print(context.color());
  return ExitCode::Done;
}

}  // namespace respool
