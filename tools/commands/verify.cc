#include "engine/integrity/verify.h"

#include <fstream>

#include <fmt/format.h>

#include "engine/model/recorder.h"

#include "tools/context.h"
#include "tools/heads_file.h"
#include "tools/output/json_writer.h"
#include "tools/output/table.h"

namespace respool {
namespace {

void print_damage(const Context& context, const Damage& damage) {
  if (context.json()) {
    JsonObject json("respool.damage/1");
    json.known_text("stream", damage.stream);
    if (damage.event) json.number("event", static_cast<std::int64_t>(damage.event->value));
    fmt::print("{}\n", json.text("what", damage.what).str());
    return;
  }
  std::string place;
  if (!damage.stream.empty()) place += fmt::format("stream {}: ", damage.stream);
  if (damage.event) place += fmt::format("event {}: ", damage.event->value);
  fmt::print("{}{}\n", place, damage.what);
}

// A store that cannot be opened is damaged, not a failure of ours.
Result<ExitCode> cannot_open(const Context& context, const Error& error) {
  if (error.code() != ErrorCode::Corruption && error.code() != ErrorCode::Io) return error;
  print_damage(context, {"", std::nullopt, error.message()});
  return ExitCode::No;
}

// Nothing there is nothing wrong, unless something was there or should be.
Result<ExitCode> absent_store(const Context& context, const Arguments& arguments) {
  std::error_code error;
  const auto& directory = context.store_directory();
  const bool was_there = std::filesystem::exists(directory / "format", error) ||
                         std::filesystem::exists(directory / "seal", error);
  if (!was_there && !arguments.has("against")) return ExitCode::Done;
  print_damage(context,
               {"", std::nullopt, fmt::format("{}: the store's data is gone", directory.string())});
  return ExitCode::No;
}

Result<void> compare_heads(const ReadView& view,
                           const std::string& path,
                           std::vector<Damage>& damages) {
  RESPOOL_TRY(const auto heads, read_heads_file(path));
  for (const auto& head : heads) {
    const auto chain = chain_after(view, {head.kind, head.stream}, head.origin, head.events);
    if (chain && chain.value() == head.chain) continue;
    damages.push_back({head.stream,
                       EventNumber{head.events},
                       chain ? fmt::format("history differs from {}", path)
                             : fmt::format("{} of {} events are gone", head.events, path)});
  }
  return ok();
}

}  // namespace

Result<ExitCode> run_verify(const Arguments& arguments, Context& context) {
  RESPOOL_TRY(const auto seal, verify_seal(context.store_directory()));
  if (seal.damage) {
    print_damage(context, *seal.damage);
    return ExitCode::No;
  }
  auto opened = context.open_for_reading();
  if (!opened) return cannot_open(context, opened.error());
  const auto store = std::move(opened.value());
  if (!store) return absent_store(context, arguments);
  std::optional<StreamName> only;
  if (arguments.has("SESSION")) {
    RESPOOL_TRY(const auto entry,
                StoreReader(*store).find(arguments.value("SESSION"), context.here()));
    only = StreamName{StreamKind::Session, entry.row.id};
  }
  RESPOOL_TRY(auto report, verify_store(*store, only));
  if (arguments.has("against")) {
    RESPOOL_TRY(compare_heads(store->view(), arguments.value("against"), report.damages));
  }
  if (arguments.has("report")) {
    for (const auto& head : report.heads)
      fmt::print("{}\n", head_json(head));
  }
  for (const auto& damage : report.damages)
    print_damage(context, damage);
  if (!report.damages.empty()) return ExitCode::No;
  context.remark(fmt::format("{} in {} are whole",
                             counted(report.events, "event"),
                             counted(report.heads.size(), "stream")));
  if (!seal.sealed)
    context.remark(
        "The store is not sealed: a writer is active or did not close, so its files were not "
        "compared.");
  return ExitCode::Done;
}

Result<ExitCode> run_rebuild(const Arguments&, Context& context) {
  RESPOOL_TRY(const auto store, context.open_for_writing("rebuild"));
  {
    RESPOOL_TRY(const auto recorder, Recorder::open(*store));
    RESPOOL_TRY(context.drain(*store, *recorder));
  }
  RESPOOL_TRY(rebuild_model(*store));
  RESPOOL_TRY(const auto last, last_position(store->view()));
  RESPOOL_TRY(store->close());
  context.remark(fmt::format("folded {} again", counted(last.value, "event")));
  return ExitCode::Done;
}

}  // namespace respool
