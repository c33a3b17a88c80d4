#include <fmt/format.h>

#include "query/views/activity_view.h"
#include "query/views/gap_view.h"

#include "tools/context.h"
#include "tools/output/json_writer.h"
#include "tools/output/table.h"

namespace respool {
namespace {

std::string_view action_name(fb::FileAction action) {
  switch (action) {
    case fb::FileAction::Read:
      return "read";
    case fb::FileAction::Write:
      return "write";
    case fb::FileAction::Edit:
      return "edit";
    case fb::FileAction::Delete:
      return "delete";
    case fb::FileAction::Patch:
      return "patch";
  }
  return "unknown";
}

std::string tool_json(const ToolLine& line) {
  const auto& part = line.part;
  JsonObject json("respool.tool/1");
  json.text("session", line.session)
      .text("message", line.message)
      .known_text("call", part.call)
      .text("tool", part.tool)
      .known_text("title", part.title)
      .text("outcome", outcome_name(line.outcome))
      .known_text("attempted_tool", part.attempted)
      .known_text("error", part.error_text);
  if (part.exit_state == fb::ExitState::Number) json.number("exit", part.exit);
  json.time("started", maybe(part.start_ms)).time("ended", maybe(part.end_ms));
  if (part.start_ms && part.end_ms) json.number("duration_ms", *part.end_ms - *part.start_ms);
  json.known_text("input_digest", part.input_digest)
      .number("output_bytes", static_cast<std::int64_t>(part.output_bytes));
  return json.known_text("output_file", part.output_path)
      .known_text("child_session", part.child_session)
      .str();
}

std::string permission_json(const PermissionLine& line) {
  const auto& ask = line.ask;
  JsonObject json("respool.permission/1");
  json.text("session", line.session)
      .text("request", ask.id)
      .known_text("permission", ask.permission)
      .texts("patterns", ask.patterns)
      .texts("always", ask.always)
      .known_text("reply", ask.reply)
      .known_text("by", ask.by);
  if (!ask.answers.empty()) json.texts("answers", ask.answers);
  return json.time("asked", maybe(ask.asked_ms))
      .time("replied", maybe(ask.replied_ms))
      .known_text("message", ask.message)
      .known_text("call", ask.call)
      .str();
}

std::string joined(const std::vector<std::string>& texts) {
  std::string text;
  for (const auto& each : texts)
    text += (text.empty() ? "" : ", ") + each;
  return text;
}

}  // namespace

Result<ExitCode> run_tools(const Arguments& arguments, Context& context) {
  RESPOOL_TRY(check_choice("outcome",
                           arguments.value("outcome"),
                           "completed failed withheld refused aborted orphaned running unknown"));
  RESPOOL_TRY(const auto filter, context.filter(arguments, arguments.value("SESSION")));
  RESPOOL_TRY(const auto store, context.open_for_reading());
  if (!store) return ExitCode::Done;
  RESPOOL_TRY(const auto lines,
              list_tools(StoreReader(*store),
                         filter,
                         arguments.value("tool"),
                         arguments.value("outcome"),
                         context.here()));
  Table table({"STARTED", "TOOL", "OUTCOME", "EXIT", "SESSION", "TITLE"});
  for (const auto& line : lines) {
    if (context.json()) {
      fmt::print("{}\n", tool_json(line));
      continue;
    }
    const auto& part = line.part;
    table.add(
        {part.start_ms ? short_time(*part.start_ms) : "",
         part.attempted.empty() ? part.tool : fmt::format("{} ({})", part.tool, part.attempted),
         std::string(outcome_name(line.outcome)),
         part.exit_state == fb::ExitState::Number ? std::to_string(part.exit) : "",
         line.session,
         part.title});
  }
  table.print(context.color());
  return ExitCode::Done;
}

Result<ExitCode> run_files(const Arguments& arguments, Context& context) {
  RESPOOL_TRY(const auto filter, context.filter(arguments, arguments.value("SESSION")));
  RESPOOL_TRY(const auto store, context.open_for_reading());
  if (!store) return ExitCode::Done;
  RESPOOL_TRY(const auto lines, list_files(StoreReader(*store), filter, context.here()));
  Table table({"TIME", "ACTION", "TOOL", "OUTCOME", "SESSION", "PATH"});
  for (const auto& line : lines) {
    const std::string outcome = line.outcome ? std::string(outcome_name(*line.outcome)) : "";
    if (context.json()) {
      fmt::print("{}\n",
                 JsonObject("respool.file/1")
                     .text("session", line.session)
                     .text("path", line.path)
                     .text("action", action_name(line.action))
                     .known_text("tool", line.tool)
                     .known_text("call", line.call)
                     .known_text("outcome", outcome)
                     .time("time", line.time_ms)
                     .str());
    } else {
      table.add({line.time_ms ? short_time(*line.time_ms) : "",
                 std::string(action_name(line.action)),
                 line.tool,
                 outcome,
                 line.session,
                 line.path});
    }
  }
  table.print(context.color());
  return ExitCode::Done;
}

Result<ExitCode> run_permissions(const Arguments& arguments, Context& context) {
  RESPOOL_TRY(const auto filter, context.filter(arguments, arguments.value("SESSION")));
  RESPOOL_TRY(const auto store, context.open_for_reading());
  if (!store) return ExitCode::Done;
  RESPOOL_TRY(const auto lines, list_permissions(StoreReader(*store), filter, context.here()));
  Table table({"ASKED", "PERMISSION", "REPLY", "SESSION", "PATTERNS"});
  for (const auto& line : lines) {
    if (context.json()) {
      fmt::print("{}\n", permission_json(line));
    } else {
      table.add({line.ask.asked_ms ? short_time(*line.ask.asked_ms) : "",
                 line.ask.permission,
                 line.ask.reply,
                 line.session,
                 joined(line.ask.patterns)});
    }
  }
  table.print(context.color());
  return ExitCode::Done;
}

Result<ExitCode> run_gaps(const Arguments& arguments, Context& context) {
  RESPOOL_TRY(const auto filter, context.filter(arguments, arguments.value("SESSION")));
  RESPOOL_TRY(const auto store, context.open_for_reading());
  if (!store) return ExitCode::Done;
  RESPOOL_TRY(const auto lines, list_gaps(StoreReader(*store), filter, context.here()));
  Table table({"KIND", "SESSION", "WHERE", "DETAIL"});
  for (const auto& line : lines) {
    if (context.json()) {
      fmt::print("{}\n",
                 JsonObject("respool.gap/1")
                     .known_text("session", line.session)
                     .text("kind", gap_kind_name(line.gap.kind))
                     .known_text("where", line.gap.where)
                     .known_text("detail", line.gap.detail)
                     .known_text("fill", line.fill)
                     .str());
    } else {
      table.add({std::string(gap_kind_name(line.gap.kind)),
                 line.session.empty() ? "-" : line.session,
                 line.gap.where,
                 line.gap.detail});
    }
  }
  table.print(context.color());
  return ExitCode::Done;
}

}  // namespace respool
