#include "ingest/opencode/watch.h"

#include <fmt/format.h>

#include "engine/storage/keys.h"

#include "tools/context.h"

namespace respool {
namespace {

// How much of each session's durable events the store has without a gap from the first.
Result<std::map<std::string, std::uint64_t>> known_sequences(Context& context) {
  std::map<std::string, std::uint64_t> known;
  RESPOOL_TRY(const auto store, context.open_if_there());
  if (!store) return known;
  const StoreReader reader(*store);
  RESPOOL_TRY(const auto sessions, reader.sessions());
  for (const auto& session : sessions) {
    const auto key = keys::fact(session.number, static_cast<char>(FactKind::Sequence), "");
    RESPOOL_TRY(const auto row, reader.view().get(Family::Model, key));
    if (!row) continue;
    RESPOOL_TRY(const auto sequence, decode<fb::SequenceRowT>(*row, "a session's sequence"));
    const auto& ranges = sequence.ranges;
    if (!ranges.empty() && ranges.front().first() == 0)
      known[session.row.id] = ranges.front().last();
  }
  return known;
}

bool is_this_machine(const std::string& host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

// Takes what was recorded into the store, if nobody else writes it now.
void drain_quietly(Context& context) {
  const auto drained = [&]() -> Result<void> {
    RESPOOL_TRY(const auto store, context.open_for_writing("watch"));
    RESPOOL_TRY(const auto recorder, Recorder::open(*store));
    RESPOOL_TRY(context.drain(*store, *recorder, true));
    return store->close();
  }();
  const bool busy = !drained && drained.error().code() == ErrorCode::StoreBusy;
  if (!drained && !busy)
    context.remark(fmt::format("It waits in the spool: {}", drained.error().message()));
}

}  // namespace

Result<ExitCode> run_watch(const Arguments& arguments, Context& context) {
  constexpr std::chrono::milliseconds kTimeout{150'000};  // a cold server takes minutes to answer
  RESPOOL_TRY(const auto address, parse_server_url(arguments.value("URL")));
  RESPOOL_TRY(context.refuse_network_store());
  if (!context.captures())
    return Error(ErrorCode::InvalidArgument, "capturing is switched off", "unset RESPOOL_CAPTURE");
  watch_for_interrupts();
  WatchOptions options{.spool_folders = context.spool_folders(),
                       .host = arguments.value(
                           "host", is_this_machine(address.host) ? context.host() : address.host),
                       .now_ms = now_ms,
                       .stop = &stop_requested(),
                       .known = {},
                       .captures = {},
                       .at_rest = [&context] { drain_quietly(context); },
                       .tell = [&context](const std::string& text) { context.remark(text); }};
  RESPOOL_TRY(options.known, known_sequences(context));
  if (!context.excluded_directories().empty()) {
    options.captures = [&context](const std::string& directory) {
      return context.captures(directory);
    };
  }
  Watch watch(OpenCodeClient(address, Credentials::from_environment(), kTimeout), options);
  RESPOOL_TRY(watch.run());
  drain_quietly(context);
  return ExitCode::Interrupted;
}

}  // namespace respool
