#include <fmt/format.h>

#include "query/views/binding_view.h"

#include "tools/context.h"
#include "tools/output/json_writer.h"
#include "tools/output/table.h"

namespace respool {
namespace {

std::string binding_json(const BindingLine& line) {
  const auto& row = line.row;
  JsonObject json("respool.binding/1");
  json.text("session", line.session)
      .known_text("key", row.key)
      .known_text("host", row.host)
      .known_text("directory", row.directory)
      .known_text("project", row.project)
      .known_text("db", row.database);
  if (row.git_ms) {
    json.raw("git",
             JsonObject()
                 .known_text("remote", row.git_remote)
                 .known_text("branch", row.git_branch)
                 .known_text("commit", row.git_commit)
                 .boolean("dirty", row.git_dirty)
                 .str());
  }
  json.known_text("opencode_version", row.opencode_version)
      .text("state", line.state)
      .time("last_seen", maybe(row.seen_ms));
  return json.str();
}

}  // namespace

Result<ExitCode> run_bindings(const Arguments& arguments, Context& context) {
  RESPOOL_TRY(const auto filter, context.filter(arguments, arguments.value("SESSION")));
  RESPOOL_TRY(const auto store, context.open_for_reading());
  if (!store) return ExitCode::Done;
  RESPOOL_TRY(const auto lines,
              list_bindings(StoreReader(*store), filter, {context.here(), context.host()}));
  Table table({"SESSION", "STATE", "HOST", "DIRECTORY", "KEY", "LAST SEEN"});
  for (const auto& line : lines) {
    if (context.json()) {
      fmt::print("{}\n", binding_json(line));
    } else {
      table.add({line.session,
                 line.state,
                 line.row.host,
                 line.row.directory,
                 line.row.key,
                 line.row.seen_ms ? short_time(*line.row.seen_ms) : ""});
    }
  }
  table.print(context.color());
  return ExitCode::Done;
}

}  // namespace respool
