#include <algorithm>
#include <chrono>
#include <cstdio>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include <fmt/format.h>

#include "schema/base64.h"
#include "schema/digest.h"
#include "schema/opencode/json_text.h"
#include "schema/opencode/utf8.h"

#include "engine/integrity/hash_chain.h"
#include "engine/storage/keys.h"

#include "query/views/session_view.h"

#include "tools/context.h"
#include "tools/output/json_writer.h"
#include "tools/output/table.h"

namespace respool {
namespace {

struct EventFilter {
  std::optional<LogPosition> after;
  std::string type;
  std::string source;
  std::size_t limit = std::numeric_limits<std::size_t>::max();
  Filter common;
  std::optional<std::set<std::uint64_t>> sessions;  // where the filter is about sessions: which

  bool operator()(const StoredEvent& event) const {
    if (sessions && !sessions->contains(event.session.value)) return false;
    if (!common.host.empty() && event.header.host != common.host) return false;
    if (!common.at(maybe(event.header.time_ms))) return false;
    if (after && event.position() <= *after) return false;
    if (!type.empty() && event.header.wire_type != type) return false;
    return source.empty() || source == shape_name(event.shape());
  }
};

std::string commitment_hex(const StoredEvent& event) {
  if (!event.header.commitment.empty()) return to_hex(bytes_of(event.header.commitment));
  return to_hex(as_bytes(commitment_of(bytes_of(event.header.salt), sha256(event.raw))));
}

class EventPrinter {
 public:
  EventPrinter(const ReadView& view, bool json, bool raw, bool embed)
      : view_(&view), json_(json), raw_(raw), embed_(embed) {}

  Result<void> print(const StoredEvent& event) {
    if (raw_) {
      std::fwrite(event.raw.data(), 1, event.raw.size(), stdout);
      std::fputc('\n', stdout);
      return ok();
    }
    RESPOOL_TRY(const auto name, stream_of(*view_, event.session));
    RESPOOL_TRY(const auto origin, origin_id(*view_, event.origin));
    if (json_) {
      fmt::print("{}\n", json(event, name, origin));
    } else {
      table_.add({format_cursor(event.position()),
                  name.kind == StreamKind::Session ? name.text : "-",
                  std::string(shape_name(event.shape())),
                  event.header.wire_type,
                  event.header.time_ms ? format_time_of(event) : "",
                  std::to_string(event.raw.size())});
    }
    return ok();
  }
  void finish(bool color) const { table_.print(color); }
  // How many events were printed, for --limit.
  std::size_t& printed() { return printed_; }

 private:
  static std::string format_time_of(const StoredEvent& event) {
    return short_time(*event.header.time_ms);
  }

  std::string json(const StoredEvent& event,
                   const StreamName& name,
                   const std::string& origin) const {
    JsonObject json("respool.event/1");
    json.text("cursor", format_cursor(event.position()));
    if (name.kind == StreamKind::Session) json.text("session", name.text);
    json.text("origin", origin)
        .number("event", static_cast<std::int64_t>(event.event.value))
        .text("source", shape_name(event.shape()))
        .known_text("type", event.header.wire_type)
        .time("time", maybe(event.header.time_ms))
        .time("received", event.header.received_ms)
        .known_text("host", event.header.host)
        .text("commitment", commitment_hex(event));
    if (!is_valid_utf8(event.raw)) return json.text("raw_base64", base64(event.raw)).str();
    if (embed_ && is_valid_json(event.raw)) return json.raw("raw", minify_json(event.raw)).str();
    return json.text("raw", event.raw).str();
  }

  const ReadView* view_;
  bool json_;
  bool raw_;
  bool embed_;
  std::size_t printed_ = 0;
  Table table_{{"CURSOR", "SESSION", "SOURCE", "TYPE", "TIME", "BYTES"}};
};

Result<void> print_session(const ReadView& view,
                           SessionNumber number,
                           const EventFilter& filter,
                           EventPrinter& printer) {
  std::size_t& printed = printer.printed();
  return each_event(view, number, [&](StoredEvent&& event) -> Result<void> {
    if (!filter(event) || printed >= filter.limit) return ok();
    ++printed;
    return printer.print(event);
  });
}

// All streams in the order the store recorded them.
Result<void> print_all(const ReadView& view, const EventFilter& filter, EventPrinter& printer) {
  std::size_t& printed = printer.printed();
  const LogPosition first{filter.after ? filter.after->value + 1 : 1};
  RowCursor rows =
      view.scan(Family::Index, keys::position(first), keys::after_prefix(keys::position_prefix()));
  for (; rows.valid() && printed < filter.limit; rows.next()) {
    const auto key = keys::decode_location(rows.value());
    if (!key)
      return Error(
          ErrorCode::Corruption, "a position of the log is damaged", "run \"respool verify\"");
    RESPOOL_TRY(const auto event, read_event(view, key->session, key->origin, key->event));
    if (!filter(event)) continue;
    ++printed;
    RESPOOL_TRY(printer.print(event));
  }
  return rows.finish();
}

std::string source_names() {
  std::string names;
  for (int shape = 0; shape <= static_cast<int>(kLastShape); ++shape) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", shape_name(static_cast<Shape>(shape)));
  }
  return names;
}

bool is_source(const std::string& name) {
  for (int shape = 0; shape <= static_cast<int>(kLastShape); ++shape) {
    if (shape_name(static_cast<Shape>(shape)) == name) return true;
  }
  return false;
}

// The sessions a filter by directory, project, model, agent or tree leaves; nothing where it is
// none.
Result<void> narrow_sessions(const StoreReader& reader,
                             const Context& context,
                             EventFilter& filter) {
  Filter about = filter.common;
  about.host.clear();
  about.since_ms = about.until_ms = std::nullopt;
  about.limit = std::numeric_limits<std::size_t>::max();
  if (about.directory.empty() && about.project.empty() && about.model.empty() &&
      about.agent.empty() && !about.tree)
    return ok();
  RESPOOL_TRY(const auto lines, list_sessions(reader, about, {context.here(), context.host()}));
  filter.sessions.emplace();
  for (const auto& line : lines)
    filter.sessions->insert(line.entry.number.value);
  return ok();
}

// Prints what the store holds now and returns how far that went.
Result<LogPosition> print_once(const Arguments& arguments, Context& context, EventFilter& filter) {
  RESPOOL_TRY(const auto store, context.open_for_reading());
  if (!store) return filter.after.value_or(LogPosition{});
  const StoreReader reader(*store);
  RESPOOL_TRY(narrow_sessions(reader, context, filter));
  EventPrinter printer(reader.view(), context.json(), arguments.has("raw"), arguments.has("embed"));
  if (arguments.has("SESSION") && !filter.common.tree) {
    RESPOOL_TRY(const auto entry, reader.find(arguments.value("SESSION"), context.here()));
    RESPOOL_TRY(print_session(reader.view(), entry.number, filter, printer));
  } else {
    RESPOOL_TRY(print_all(reader.view(), filter, printer));
  }
  printer.finish(context.color());
  filter.limit -= std::min(filter.limit, printer.printed());
  return last_position(reader.view());
}

}  // namespace

Result<ExitCode> run_events(const Arguments& arguments, Context& context) {
  EventFilter filter;
  if (arguments.has("after")) {
    filter.after = parse_cursor(arguments.value("after"));
    if (!filter.after) {
      return Error(ErrorCode::InvalidArgument,
                   fmt::format("\"{}\" is not a cursor", arguments.value("after")),
                   "give one that `events` printed, such as c120");
    }
  }
  filter.type = arguments.value("type");
  filter.source = arguments.value("source");
  if (!filter.source.empty() && !is_source(filter.source)) {
    return Error(ErrorCode::InvalidArgument,
                 fmt::format("no source is called \"{}\"", filter.source),
                 source_names());
  }
  RESPOOL_TRY(filter.common, context.filter(arguments, arguments.value("SESSION")));
  filter.limit = filter.common.limit;
  if (!arguments.has("follow")) {
    RESPOOL_TRY(print_once(arguments, context, filter));
    return ExitCode::Done;
  }
  watch_for_interrupts();
  while (!stop_requested()) {
    RESPOOL_TRY(filter.after, print_once(arguments, context, filter));
    std::fflush(stdout);
    if (filter.limit == 0) return ExitCode::Done;
    constexpr std::chrono::milliseconds kPause{500};
    std::this_thread::sleep_for(kPause);
  }
  return ExitCode::Interrupted;
}

}  // namespace respool
