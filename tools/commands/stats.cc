#include <fmt/format.h>

#include "engine/storage/keys.h"

#include "tools/context.h"
#include "tools/output/json_writer.h"

namespace respool {

Result<ExitCode> run_stats(const Arguments&, Context& context) {
  RESPOOL_TRY(const auto store, context.open_for_reading());
  if (!store) return ExitCode::Done;
  const StoreReader reader(*store);
  std::uint64_t streams = 0;
  std::uint64_t events = 0;
  std::uint64_t raw_bytes = 0;
  RowCursor heads = reader.view().scan_prefix(Family::Index, keys::head_prefix());
  for (; heads.valid(); heads.next(), ++streams) {
    RESPOOL_TRY(const auto head, decode<fb::StreamHeadT>(heads.value(), "the heads"));
    events += head.events;
    raw_bytes += head.raw_bytes;
  }
  RESPOOL_TRY(heads.finish());
  RESPOOL_TRY(const auto sessions, reader.sessions());
  RESPOOL_TRY(const auto stale, reader.model_is_stale());
  if (context.json()) {
    fmt::print("{}\n",
               JsonObject("respool.stats/1")
                   .number("sessions", static_cast<std::int64_t>(sessions.size()))
                   .number("streams", static_cast<std::int64_t>(streams))
                   .number("events", static_cast<std::int64_t>(events))
                   .number("raw_bytes", static_cast<std::int64_t>(raw_bytes))
                   .number("disk_bytes", static_cast<std::int64_t>(store->disk_bytes()))
                   .number("format_version", kFormatVersion)
                   .text("origin", store->meta().origin)
                   .boolean("model_stale", stale)
                   .str());
    return ExitCode::Done;
  }
  fmt::print(
      "store        {}\nsessions     {}\nevents       {}\nraw bytes    {}\ndisk bytes   {}\nformat "
      "      {}\norigin       {}\n",
      context.store_directory().string(),
      sessions.size(),
      events,
      raw_bytes,
      store->disk_bytes(),
      kFormatVersion,
      store->meta().origin);
  if (stale) fmt::print("the model is of an older build; the next command that writes renews it\n");
  return ExitCode::Done;
}

Result<ExitCode> run_completions(const Arguments& arguments, Context&) {
  const auto script = completions(arguments.value("SHELL"));
  if (!script) {
    return Error(ErrorCode::InvalidArgument,
                 fmt::format("no completions for \"{}\"", arguments.value("SHELL")),
                 "bash, zsh or fish");
  }
  fmt::print("{}", *script);
  return ExitCode::Done;
}

Result<ExitCode> run_man(const Arguments&, Context&) {
  fmt::print("{}", man_page());
  return ExitCode::Done;
}

}  // namespace respool
