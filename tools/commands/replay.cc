#include <fmt/format.h>

#include "ingest/opencode/runtime.h"
#include "ingest/process/child_process.h"
#include "query/replay/context.h"
#include "query/replay/markdown.h"
#include "query/replay/mask_transcript.h"
#include "query/replay/prefix.h"

#include "tools/context.h"
#include "tools/output/json_writer.h"
#include "tools/present_files.h"
#include "tools/replay_budget.h"
#include "tools/target.h"

namespace respool {
namespace {

std::string list_json(const std::vector<std::string>& objects) {
  return fmt::format("[{}]", fmt::join(objects, ","));
}

std::string files_json(const Transcript& transcript, const PresentFiles& present) {
  std::vector<std::string> files;
  for (const auto& file : touched_files(transcript)) {
    files.push_back(JsonObject()
                        .text("path", file.path)
                        .text("action", file.action)
                        .known_text("recorded", file.recorded)
                        .known_text("now", compared(file, present))
                        .str());
  }
  return list_json(files);
}

std::string masked_json(const std::map<std::string, std::uint64_t>& masked) {
  std::vector<std::string> kinds;
  for (const auto& [kind, count] : masked) {
    kinds.push_back(
        JsonObject().text("kind", kind).number("count", static_cast<std::int64_t>(count)).str());
  }
  return list_json(kinds);
}

std::string interrupted_json(const Transcript& transcript) {
  std::vector<std::string> calls;
  for (const auto& item : transcript.items) {
    if (item.removed || !may_have_taken_effect(item)) continue;
    calls.push_back(JsonObject()
                        .text("message", item.message)
                        .text("part", item.part)
                        .text("tool", item.tool)
                        .text("outcome", outcome_name(*item.outcome))
                        .str());
  }
  return list_json(calls);
}

std::string replay_json(const Replay& replay,
                        const Transcript& transcript,
                        const ReplayOptions& options,
                        const std::string& at,
                        const std::string& budget_from,
                        const std::map<std::string, std::uint64_t>& masked) {
  std::vector<std::string> kept;
  std::vector<std::string> shown;
  for (const auto& message : replay.shown) {
    if (message.message.empty()) continue;
    kept.push_back(message.message);
    shown.push_back(JsonObject()
                        .text("message", message.message)
                        .text("as", fidelity_name(message.fidelity))
                        .str());
  }
  std::vector<std::string> left_out;
  for (const auto& item : replay.left_out)
    left_out.push_back(JsonObject().text("what", item.what).text("reason", item.reason).str());
  return JsonObject("respool.replay/1")
      .text("replay_id", replay.replay_id)
      .text("session", replay.session)
      .known_text("directory", transcript.directory)
      .known_text("host", transcript.host)
      .known_text("at", at)
      .text("renderer", fmt::format("prefix/{}", kRendererVersion))
      .number("budget", static_cast<std::int64_t>(replay.budget_tokens))
      .text("budget_from", budget_from)
      .number("estimated_tokens", static_cast<std::int64_t>(replay.estimated_tokens))
      .texts("kept", kept)
      .raw("shown", list_json(shown))
      .raw("left_out", list_json(left_out))
      .raw("masked", masked_json(masked))
      .raw("files", files_json(transcript, options.present))
      .raw("interrupted", interrupted_json(transcript))
      .text("text", replay.text)
      .str();
}

}  // namespace

Result<ExitCode> run_replay(const Arguments& arguments, Context& context) {
  const std::string format = arguments.value("format", context.json() ? "json" : "prefix");
  RESPOOL_TRY(check_choice("format", format, "prefix markdown json"));
  ReplayOptions options;
  options.reasoning = arguments.has("reasoning");
  RESPOOL_TRY(const auto store, context.open_for_reading());
  if (!store) return no_store(context);
  const StoreReader reader(*store);
  RESPOOL_TRY(const auto where, find_target(arguments, context, reader));
  RESPOOL_TRY(auto transcript,
              read_context(reader, where.entry.number, where.point, arguments.has("children")));
  std::map<std::string, std::uint64_t> masked;
  if (!arguments.has("no-mask")) {
    RESPOOL_TRY(auto masker, Masker::make(context.mask_rules()));
    mask_transcript(masker, transcript);
    masked = masker.counts();
  }
  if (format == "markdown") {
    fmt::print("{}", render_markdown(transcript, options.reasoning));
    return ExitCode::Done;
  }
  if (arguments.has("dir")) {
    options.new_directory = canonical_directory(arguments.value("dir"));
    options.new_host = context.host();
    options.present = look_at_files(transcript, options.new_directory);
  }
  RESPOOL_TRY(const auto budget, replay_budget(arguments, own_environment(), where.entry));
  options.budget_tokens = budget.tokens;
  const Replay replay = render_replay(transcript, options);
  if (replay.shown.empty() && !transcript.items.empty()) {
    context.print_error(
        Error(ErrorCode::InvalidArgument,
              fmt::format("a budget of {} tokens cannot hold the newest prompt of session {}",
                          options.budget_tokens,
                          replay.session),
              fmt::format("--budget {}", replay.least_tokens)));
    return ExitCode::No;
  }
  if (format == "json") {
    const std::string at = arguments.value("at", arguments.value("before"));
    fmt::print("{}\n", replay_json(replay, transcript, options, at, budget.from, masked));
  } else {
    fmt::print("{}", replay.text);
  }
  return ExitCode::Done;
}

}  // namespace respool
