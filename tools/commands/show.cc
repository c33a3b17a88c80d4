#include <fmt/format.h>

#include "schema/opencode/plain_text.h"

#include "query/views/transcript.h"

#include "tools/context.h"
#include "tools/output/json_writer.h"
#include "tools/output/table.h"
#include "tools/target.h"

namespace respool {
namespace {

std::string item_json(const TranscriptItem& item) {
  JsonObject json("respool.item/1");
  json.known_text("message", item.message)
      .known_text("part", item.part)
      .text("role", item.role)
      .text("kind", item.kind);
  json.time("time", item.time_ms)
      .text("text", item.text)
      .known_text("title", item.title)
      .known_text("tool", item.tool);
  json.known_text("call", item.call);
  if (!item.input.empty()) json.text("input", item.input);
  if (item.outcome) json.text("outcome", outcome_name(*item.outcome));
  if (item.exit) json.number("exit", *item.exit);
  json.known_text("child_session", item.child_session);
  if (item.synthetic) json.boolean("synthetic", true);
  if (item.summary) json.boolean("summary", true);
  return json.boolean("removed", item.removed).str();
}

void print_item(const TranscriptItem& item) {
  std::string head =
      fmt::format("{} {}", item.time_ms ? short_time(*item.time_ms) : "-", item.role);
  if (item.kind != "text") head += fmt::format(" {}", item.kind);
  if (!item.tool.empty())
    head += fmt::format(" {} [{}]", item.tool, item.outcome ? outcome_name(*item.outcome) : "");
  if (!item.title.empty()) head += fmt::format(": {}", item.title);
  if (item.removed) head += " (removed)";
  fmt::print("{}\n", one_line(head));
  if (!item.input.empty()) fmt::print("    {}\n", one_line(item.input));
  const std::string text = plain_text(item.text);
  if (!text.empty()) fmt::print("{}\n", text);
  fmt::print("\n");
}

}  // namespace

Result<ExitCode> run_show(const Arguments& arguments, Context& context) {
  RESPOOL_TRY(const auto filter, context.filter(arguments, arguments.value("SESSION")));
  RESPOOL_TRY(const auto store, context.open_for_reading());
  if (!store) return no_store(context);
  const StoreReader reader(*store);
  RESPOOL_TRY(const auto where, find_target(arguments, context, reader));
  RESPOOL_TRY(const auto transcript, read_transcript(reader, where.entry.number, where.point));
  std::size_t shown = 0;
  for (const auto& item : transcript.items) {
    if (!filter.at(item.time_ms) || shown++ >= filter.limit) continue;
    if (context.json()) {
      fmt::print("{}\n", item_json(item));
    } else {
      print_item(item);
    }
  }
  return ExitCode::Done;
}

}  // namespace respool
