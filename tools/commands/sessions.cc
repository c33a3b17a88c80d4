#include <fmt/format.h>

#include "query/views/session_view.h"

#include "tools/context.h"
#include "tools/output/json_writer.h"
#include "tools/output/table.h"

namespace respool {
namespace {

std::string session_json(const SessionLine& line) {
  const auto& row = line.entry.row;
  const auto& totals = line.entry.totals;
  const auto& usage = *totals.usage;
  JsonObject json("respool.session/1");
  json.text("session", row.id)
      .known_text("title", row.title)
      .known_text("directory", row.directory)
      .known_text("project", row.project)
      .known_text("host", row.host)
      .texts("origins", line.origins)
      .known_text("parent", row.parent)
      .known_text("forked_from", line.forked_from)
      .known_text("resumed_from", line.resumed_from)
      .known_text("opencode_version", row.opencode_version)
      .texts("models", totals.models)
      .number("messages", totals.messages)
      .number("steps", usage.steps)
      .number("tool_calls", totals.tool_calls)
      .raw("tokens", spent_tokens_json(usage))
      .money("cost", usage.cost_nanos)
      .number("visible_steps", usage.visible_steps)
      .raw("visible_tokens", visible_tokens_json(usage))
      .number("visible_cost_nanos", usage.visible_cost_nanos)
      .number("removed_steps", usage.removed_steps)
      .number("copied_steps", usage.copied_steps)
      .number("unpriced_steps", usage.unpriced_steps)
      .raw("tree_tokens", spent_tokens_json(line.tree))
      .number("tree_cost_nanos", line.tree.cost_nanos)
      .number("family_cost_nanos", line.family_cost_nanos);
  if (totals.context_tokens) json.number("context_tokens", *totals.context_tokens);
  json.text("state", line.state)
      .time("created", maybe(row.created_ms))
      .time("updated", row.updated_ms ? maybe(row.updated_ms) : maybe(row.last_ms))
      .number("events", static_cast<std::int64_t>(line.events))
      .boolean("complete", line.complete);
  return json.str();
}

}  // namespace

Result<ExitCode> run_sessions(const Arguments& arguments, Context& context) {
  RESPOOL_TRY(check_choice("state", arguments.value("state"), "alive moved gone dead unknown"));
  RESPOOL_TRY(auto filter, context.filter(arguments, arguments.value("SESSION")));
  RESPOOL_TRY(const auto store, context.open_for_reading());
  if (!store) return ExitCode::Done;
  const StoreReader reader(*store);
  const std::string state = arguments.value("state");
  const std::size_t limit = filter.limit;
  if (!state.empty()) filter.limit = std::numeric_limits<std::size_t>::max();
  RESPOOL_TRY(auto lines, list_sessions(reader, filter, {context.here(), context.host()}));
  if (!state.empty())
    std::erase_if(lines, [&](const SessionLine& line) { return line.state != state; });
  if (lines.size() > limit) lines.resize(limit);
  if (context.json()) {
    for (const auto& line : lines)
      fmt::print("{}\n", session_json(line));
    return ExitCode::Done;
  }
  Table table({"SESSION", "UPDATED", "STEPS", "TOOLS", "TOKENS", "COST", "TITLE"});
  for (const auto& line : lines) {
    const auto& row = line.entry.row;
    const auto updated = row.updated_ms ? maybe(row.updated_ms) : maybe(row.last_ms);
    const auto& usage = *line.entry.totals.usage;
    table.add({row.id,
               updated ? short_time(*updated) : "",
               std::to_string(usage.steps),
               std::to_string(line.entry.totals.tool_calls),
               std::to_string(spent_tokens(usage)),
               dollars(usage.cost_nanos),
               row.title});
  }
  table.print(context.color());
  return ExitCode::Done;
}

Result<ExitCode> run_lineage(const Arguments& arguments, Context& context) {
  RESPOOL_TRY(const auto filter, context.filter(arguments, arguments.value("SESSION")));
  RESPOOL_TRY(const auto store, context.open_for_reading());
  if (!store) return ExitCode::Done;
  RESPOOL_TRY(const auto edges, list_lineage(StoreReader(*store), filter, context.here()));
  Table table({"FROM", "TO", "KIND", "CERTAINTY"});
  for (const auto& edge : edges) {
    if (context.json()) {
      fmt::print("{}\n",
                 JsonObject("respool.lineage/1")
                     .text("from", edge.from)
                     .text("to", edge.to)
                     .text("kind", edge.kind)
                     .time("at", edge.at_ms)
                     .text("certainty", edge.certainty)
                     .str());
    } else {
      table.add({edge.from, edge.to, edge.kind, edge.certainty});
    }
  }
  table.print(context.color());
  return ExitCode::Done;
}

}  // namespace respool
