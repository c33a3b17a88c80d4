#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include <unistd.h>

#include <fmt/format.h>

#include "query/export/bundle.h"
#include "query/export/opencode_file.h"

#include "tools/context.h"
#include "tools/output/json_writer.h"
#include "tools/output/output_file.h"
#include "tools/output/table.h"

namespace respool {
namespace {

// Where an export goes: a file that appears when it is whole, or stdout.
class Target {
 public:
  static Result<Target> open(const Arguments& arguments, bool binary) {
    Target target;
    const std::string path = arguments.value("output", "-");
    if (path != "-") {
      RESPOOL_TRY(auto file, OutputFile::create(path, arguments.has("force")));
      target.file_.emplace(std::move(file));
    } else if (binary && ::isatty(STDOUT_FILENO) != 0) {
      return Error(ErrorCode::InvalidArgument,
                   "these are bytes, and not for a terminal",
                   "add --output FILE, or a pipe");
    }
    return target;
  }

  Result<void> write(std::string_view bytes) {
    if (stop_requested()) return Error(ErrorCode::Interrupted, "the export was interrupted");
    return file_ ? file_->write(bytes) : write_fully(STDOUT_FILENO, bytes, "stdout");
  }
  Result<void> finish() { return file_ ? file_->finish() : ok(); }
  bool is_file() const { return file_.has_value(); }

 private:
  std::optional<OutputFile> file_;
};

// A session that respool continued as text holds only the end of its context: what it continues
// comes along.
Result<void> add_continued(const StoreReader& reader, std::set<std::string>& chosen) {
  std::vector<std::string> waiting(chosen.begin(), chosen.end());
  while (!waiting.empty()) {
    const std::string id = std::move(waiting.back());
    waiting.pop_back();
    RESPOOL_TRY(const auto number, reader.number_of(id));
    if (!number) continue;
    RESPOOL_TRY(const auto entry, reader.session(*number));
    const std::string& before = entry.row.continues;
    if (before.empty()) continue;
    RESPOOL_TRY(const auto known, reader.number_of(before));
    if (known && chosen.insert(before).second) waiting.push_back(before);
  }
  return ok();
}

// The sessions a command names, what they continue, and all below them.
Result<std::set<std::string>> chosen_sessions(const Arguments& arguments,
                                              const Context& context,
                                              const StoreReader& reader) {
  std::set<std::string> chosen;
  for (const auto& text : arguments.values("SESSION")) {
    RESPOOL_TRY(const auto entry, reader.find(text, context.here()));
    chosen.insert(entry.row.id);
  }
  RESPOOL_TRY(add_continued(reader, chosen));
  return with_children(reader, chosen);
}

void report_bundle(const Arguments& arguments,
                   const Context& context,
                   const BundleReport& report,
                   bool to_file) {
  if (context.json() && to_file) {
    fmt::print("{}\n",
               JsonObject("respool.export/1")
                   .text("format", "bundle")
                   .text("output", arguments.value("output"))
                   .number("sessions", static_cast<std::int64_t>(report.sessions))
                   .number("streams", static_cast<std::int64_t>(report.streams))
                   .number("events", static_cast<std::int64_t>(report.events))
                   .number("raw_bytes", static_cast<std::int64_t>(report.raw_bytes))
                   .number("bytes", static_cast<std::int64_t>(report.bytes))
                   .text("cursor", format_cursor(report.until))
                   .str());
  }
  context.remark(fmt::format("{} in {} of {}: {} bytes. What comes later: --since {}",
                             counted(report.events, "event"),
                             counted(report.streams, "stream"),
                             counted(report.sessions, "session"),
                             report.bytes,
                             format_cursor(report.until)));
  if (!report.left_out.empty())
    fmt::print(stderr,
               "respool: {} left out: their names are none that another store takes\n",
               counted(report.left_out.size(), "stream"));
}

Result<ExitCode> export_bundle(const Arguments& arguments,
                               const Context& context,
                               const StoreReader& reader) {
  BundleRequest request;
  request.all = arguments.has("all");
  if (arguments.has("since")) {
    request.since = parse_cursor(arguments.value("since"));
    if (!request.since)
      return Error(ErrorCode::InvalidArgument,
                   fmt::format("\"{}\" is not a cursor", arguments.value("since")),
                   "give one that `events` or an earlier export printed, such as c120");
  }
  if (!request.all) {
    RESPOOL_TRY(request.sessions, chosen_sessions(arguments, context, reader));
  }
  RESPOOL_TRY(auto target, Target::open(arguments, true));
  RESPOOL_TRY(const auto report, write_bundle(reader, request, [&](std::string_view bytes) {
                return target.write(bytes);
              }));
  RESPOOL_TRY(target.finish());
  report_bundle(arguments, context, report, target.is_file());
  return report.left_out.empty() ? ExitCode::Done : ExitCode::No;
}

// The file that `opencode import` takes holds one session.
Result<ExitCode> export_opencode(const Arguments& arguments,
                                 const Context& context,
                                 const StoreReader& reader) {
  const auto& names = arguments.values("SESSION");
  if (names.size() != 1 || arguments.has("since")) {
    return Error(ErrorCode::InvalidArgument,
                 "an OpenCode file holds one session, whole",
                 "respool export SESSION --format opencode");
  }
  RESPOOL_TRY(const auto entry, reader.find(names.front(), context.here()));
  RESPOOL_TRY(const auto file, opencode_file(reader, entry.number, {}, {}));
  RESPOOL_TRY(auto target, Target::open(arguments, false));
  RESPOOL_TRY(target.write(file.json));
  RESPOOL_TRY(target.write("\n"));
  RESPOOL_TRY(target.finish());
  for (const auto& note : file.notes) {
    if (note.left_out)
      context.remark(
          fmt::format("{}: {}", note.part.empty() ? note.message : note.part, note.what));
  }
  return ExitCode::Done;
}

// What `--format` takes, and who writes it.
struct ExportFormat {
  std::string_view name;
  Result<ExitCode> (*write)(const Arguments&, const Context&, const StoreReader&);
};
constexpr std::array kFormats = {
    ExportFormat{"bundle", export_bundle},
    ExportFormat{"opencode", export_opencode},
};

Result<const ExportFormat*> format_of(const std::string& name) {
  const auto* found = std::ranges::find(kFormats, name, &ExportFormat::name);
  if (found != kFormats.end()) return found;
  std::string names;
  for (const auto& format : kFormats)
    names += fmt::format("{}{}", names.empty() ? "" : ", ", format.name);
  return Error(ErrorCode::InvalidArgument,
               fmt::format("there is no format \"{}\" for exports", name),
               fmt::format("there is: {}", names));
}

}  // namespace

Result<ExitCode> run_export(const Arguments& arguments, Context& context) {
  RESPOOL_TRY(const auto* format, format_of(arguments.value("format", "bundle")));
  if (arguments.has("all") == !arguments.values("SESSION").empty())
    return Error(ErrorCode::InvalidArgument,
                 arguments.has("all") ? "--all is every session: name none beside it"
                                      : "no session is named",
                 "respool export SESSION, or respool export --all");
  watch_for_interrupts();
  RESPOOL_TRY(const auto store, context.open_for_reading());
  if (!store)
    return Error(
        ErrorCode::NotFound,
        fmt::format("{} is empty: there is nothing to export", context.store_directory().string()));
  return format->write(arguments, context, StoreReader(*store));
}

}  // namespace respool
