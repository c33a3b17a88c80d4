#include <fmt/format.h>

#include "query/replay/prefix.h"
#include "query/replay/quote.h"
#include "query/views/transcript.h"

#include "tools/context.h"
#include "tools/output/json_writer.h"
#include "tools/output/table.h"

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

// The session and the point a command was given.
struct Target {
  SessionEntry entry;
  Point point;
};

Result<Target> target(const Arguments& arguments,
                      const Context& context,
                      const StoreReader& reader) {
  Target target;
  RESPOOL_TRY(target.entry, reader.find(arguments.value("SESSION"), context.here()));
  RESPOOL_TRY(const auto zone, context.zone(arguments));
  if (arguments.has("at") && arguments.has("before")) {
    return Error(ErrorCode::InvalidArgument, "--at and --before exclude each other");
  }
  if (arguments.has("at")) {
    RESPOOL_TRY(target.point, parse_point(arguments.value("at"), false, zone, now_ms()));
  }
  if (arguments.has("before")) {
    RESPOOL_TRY(target.point, parse_point(arguments.value("before"), true, zone, now_ms()));
  }
  if (arguments.has("branch")) {
    RESPOOL_TRY(target.point.until.origin, reader.find_origin(arguments.value("branch")));
  }
  return target;
}

Error no_store(const Context& context) {
  return Error(ErrorCode::NotFound,
               fmt::format("the store {} is empty", context.store_directory().string()),
               "opencode export SESSION | respool ingest -");
}

std::string replay_json(const Replay& replay, const std::string& at) {
  std::string left_out = "[";
  for (const auto& item : replay.left_out) {
    if (left_out.size() > 1) left_out += ",";
    left_out += JsonObject().text("what", item.what).text("reason", item.reason).str();
  }
  return JsonObject("respool.replay/1")
      .text("replay_id", replay.replay_id)
      .text("session", replay.session)
      .known_text("at", at)
      .text("renderer", fmt::format("prefix/{}", kRendererVersion))
      .number("budget", static_cast<std::int64_t>(replay.budget_tokens))
      .number("estimated_tokens", static_cast<std::int64_t>(replay.estimated_tokens))
      .texts("kept", replay.kept)
      .raw("left_out", left_out + "]")
      .text("text", replay.text)
      .str();
}

}  // namespace

Result<ExitCode> run_show(const Arguments& arguments, Context& context) {
  RESPOOL_TRY(const auto filter, context.filter(arguments, arguments.value("SESSION")));
  RESPOOL_TRY(const auto store, context.open_for_reading());
  if (!store) return no_store(context);
  const StoreReader reader(*store);
  RESPOOL_TRY(const auto where, target(arguments, context, reader));
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

Result<ExitCode> run_replay(const Arguments& arguments, Context& context) {
  const std::string format = arguments.value("format", context.json() ? "json" : "prefix");
  if (format != "prefix" && format != "json") {
    return Error(ErrorCode::InvalidArgument,
                 fmt::format("--format {} is not known", format),
                 "prefix or json");
  }
  ReplayOptions options;
  RESPOOL_TRY(options.budget_tokens, number_flag(arguments, "budget", kDefaultBudgetTokens));
  options.reasoning = arguments.has("reasoning");
  RESPOOL_TRY(const auto store, context.open_for_reading());
  if (!store) return no_store(context);
  const StoreReader reader(*store);
  RESPOOL_TRY(const auto where, target(arguments, context, reader));
  RESPOOL_TRY(const auto transcript, read_transcript(reader, where.entry.number, where.point));
  const Replay replay = render_replay(transcript, options);
  if (replay.estimated_tokens > options.budget_tokens) {
    return Error(ErrorCode::InvalidArgument,
                 fmt::format("a budget of {} tokens cannot hold even the frame of a replay",
                             options.budget_tokens),
                 fmt::format("--budget {}", replay.estimated_tokens));
  }
  if (replay.kept.empty() && !transcript.items.empty()) {
    context.print_error(Error(ErrorCode::InvalidArgument,
                              fmt::format("a budget of {} tokens holds no turn of session {}",
                                          options.budget_tokens,
                                          replay.session),
                              "give a larger --budget"));
    return ExitCode::No;
  }
  if (format == "json") {
    fmt::print("{}\n", replay_json(replay, arguments.value("at", arguments.value("before"))));
  } else {
    fmt::print("{}", replay.text);
  }
  return ExitCode::Done;
}

}  // namespace respool
