#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "schema/ids.h"
#include "schema/opencode/decode_note.h"
#include "schema/opencode/decode_row.h"
#include "schema/opencode/gather.h"
#include "schema/opencode/id_time.h"
#include "schema/opencode/record.h"

namespace respool {
namespace {

using decode_detail::Gathered;
using decode_detail::Info;
using decode_detail::Notes;

Shape shape_of(const Gathered& all) {
  if (all.has_payload) return all.has_sync ? Shape::SyncFrame : Shape::GlobalEvent;
  if (all.type.starts_with("respool.")) return Shape::Note;
  if (all.has_properties) return Shape::BusEvent;
  if (all.has_data) return all.has_aggregate ? Shape::SyncRow : Shape::ApiEvent;
  const bool run = all.has_timestamp && !all.outer_session.empty() && !all.type.empty();
  return run ? Shape::RunLine : Shape::Unknown;
}

// Gives the ask its halves: what asks has an id of its own, what answers names the request.
AskBody finish_ask(Kind kind, Gathered& all) {
  AskBody ask = std::move(all.ask);
  ask.row.question = kind == Kind::QuestionAsked || kind == Kind::QuestionReplied ||
                     kind == Kind::QuestionRejected;
  ask.asked = kind == Kind::PermissionAsked || kind == Kind::QuestionAsked;
  if (ask.asked || ask.row.id.empty()) ask.row.id = all.body_id.empty() ? ask.row.id : all.body_id;
  if (kind == Kind::QuestionRejected) ask.row.reply = "reject";
  if (kind == Kind::QuestionReplied) ask.row.reply = "answered";
  if (ask.row.message.empty()) ask.row.message = all.removed.message;
  if (ask.asked && ask.row.question) ask.row.permission = "question";
  return ask;
}

// A body is only as good as its identity: without an id there is no fact to join to.
void missing(Record& record, std::string_view what) {
  record.problems |= kUnknownVariant;
  if (record.problem_detail.empty())
    record.problem_detail = fmt::format("{} without {}", record.wire_type, what);
}

void set_info_body(Record& record, Gathered& all) {
  Info& info = all.info;
  if (record.kind == Kind::MessageState) {
    if (!is_plain_id(info.id) || !info.has_role) return missing(record, "message id or role");
    info.as_message.id = info.id;
    record.body = std::move(info.as_message);
    return;
  }
  if (info.id.empty()) info.id = record.session;
  info.as_session.id = info.id;
  record.body = std::move(info.as_session);
}

void set_body(Record& record, Gathered& all) {
  switch (record.kind) {
    case Kind::SessionState:
    case Kind::MessageState:
      if (!all.has_info) return missing(record, "info");
      return set_info_body(record, all);
    case Kind::PartState:
      if (!all.has_part) return missing(record, "part");
      if (!is_plain_id(all.part.id) || !is_plain_id(all.part.message))
        return missing(record, "part id or message id");
      record.body = std::move(all.part);
      return;
    case Kind::SessionRemoved:
    case Kind::MessageRemoved:
    case Kind::PartRemoved:
      if (record.kind != Kind::SessionRemoved && !is_plain_id(all.removed.message))
        return missing(record, "message id");
      if (record.kind == Kind::PartRemoved && !is_plain_id(all.removed.part))
        return missing(record, "part id");
      record.body = std::move(all.removed);
      return;
    case Kind::SessionStatus:
      if (all.status != "busy" && all.status != "idle" && all.status != "retry") {
        missing(record, "a known status");
      }
      record.body = StatusBody{all.status};
      return;
    case Kind::SessionError:
      if (!all.has_error) all.error = ErrorBody{"UnknownError", "UnknownError", {}};
      record.body = std::move(all.error);
      return;
    case Kind::PermissionAsked:
    case Kind::PermissionReplied:
    case Kind::QuestionAsked:
    case Kind::QuestionReplied:
    case Kind::QuestionRejected: {
      AskBody ask = finish_ask(record.kind, all);
      if (!is_plain_id(ask.row.id)) return missing(record, "request id");
      record.body = std::move(ask);
      return;
    }
    case Kind::Todos:
      record.body = all.todos;
      return;
    case Kind::CommandExecuted:
      if (!is_plain_id(all.removed.message)) return missing(record, "message id");
      all.command.message = all.removed.message;
      record.body = CommandBody{std::move(all.command)};
      return;
    case Kind::Prompt:
      record.body = all.prompt;
      return;
    case Kind::Source:
      record.body = SourceBody{all.until_ms};
      return;
    case Kind::SessionIdle:
    case Kind::Compacted:
    case Kind::RunStarted:
    case Kind::RunStderr:
    case Kind::RunEnded:
    case Kind::Lost:
    case Kind::Damaged:
    case Kind::Binding:
    case Kind::SessionGone:
    case Kind::ReplayStep:
    case Kind::OutputFile:
    case Kind::Passing:
    case Kind::Foreign:
    case Kind::Unknown:
      return;
  }
}

// All the places that name a session must name the same one.
void set_session(Record& record, const Gathered& all) {
  std::string_view info_session;
  if (all.has_info) {
    info_session = record.kind == Kind::MessageState ? std::string_view(all.info.session)
                                                     : std::string_view(all.info.id);
  }
  for (const std::string_view named : {std::string_view(all.outer_session),
                                       std::string_view(all.body_session),
                                       std::string_view(all.part_session),
                                       info_session}) {
    if (named.empty()) continue;
    if (record.session.empty()) {
      record.session = named;
    } else if (record.session != named) {
      record.problems |= kIdentityMismatch;
      record.problem_detail = "two session ids in one record";
    }
  }
  if (!record.session.empty() && !is_session_id(record.session)) {
    record.session.clear();
    record.problems |= kIdentityMismatch;
    record.problem_detail = "a session id that cannot be one";
  }
}

void take_notes(Record& record, const Notes& notes, bool repaired) {
  record.latest_ms = notes.latest_ms;
  record.problems |= notes.problems;
  if (record.problem_detail.empty()) record.problem_detail = notes.detail;
  if (repaired) record.problems |= kRepaired;
  if (notes.broken) record.problems |= kMalformed;
}

json::Reader& reader() {
  thread_local auto instance = std::make_unique<json::Reader>();
  return *instance;
}

Record malformed() {
  Record record;
  record.shape = Shape::Malformed;
  record.problems = kMalformed;
  return record;
}

void check_promise(Record& record, const Gathered& all) {
  if (record.shape != Shape::RunLine || !all.has_part) return;
  const std::string_view promised = promised_part_type(record.wire_type);
  if (promised.empty()) return;
  const bool kept = (promised == "tool" && all.part.type == fb::PartType::Tool) ||
                    (promised == "text" && all.part.type == fb::PartType::Text) ||
                    (promised == "reasoning" && all.part.type == fb::PartType::Reasoning) ||
                    (promised == "step-start" && all.part.type == fb::PartType::StepStart) ||
                    (promised == "step-finish" && all.part.type == fb::PartType::StepFinish);
  if (kept) return;
  record.problems |= kIdentityMismatch;
  record.problem_detail = fmt::format("a {} line with another type of part", record.wire_type);
}

Record decode_line(std::string_view raw) {
  json::Reader& json = reader();
  if (!json.load(raw)) return malformed();
  const auto object = json.object();
  if (!object) return malformed();
  auto all = std::make_unique<Gathered>();
  decode_detail::read_envelope(*object, *all);
  if (!all->notes.broken && !json.at_end()) all->notes.broken = true;

  Record record;
  record.shape = shape_of(*all);
  record.wire_type = all->type;
  record.kind = kind_of(all->type);
  record.event_id = record.shape == Shape::RunLine ? "" : all->event_id;
  record.sequence = all->sequence;
  set_session(record, *all);
  check_promise(record, *all);
  record.time_ms =
      record.shape == Shape::RunLine || all->timestamp ? all->timestamp : all->body_time;
  take_notes(record, all->notes, json.repaired());
  if (!record.time_ms) record.time_ms = record.latest_ms;
  if (all->notes.broken && record.wire_type.empty()) {
    // Nothing tells what it was meant to be: whoever reads it again by its shape must find no more.
    Record unreadable = malformed();
    unreadable.session = record.session;
    return unreadable;
  }
  if (record.shape == Shape::RunLine && all->has_part) all->part.line_ms = record.time_ms;
  if (record.shape == Shape::Note && decode_detail::is_note_kind(record.kind)) {
    Notes notes;
    if (json.load(raw)) {
      if (const auto again = json.object()) decode_detail::read_note(*again, record, notes);
    }
    return record;
  }
  set_body(record, *all);
  return record;
}

void set_exported(Record& record, Gathered& all) {
  switch (record.shape) {
    case Shape::ExportSession:
      record.kind = Kind::SessionState;
      record.wire_type = "info";
      if (record.session.empty()) record.session = all.info.id;
      all.info.as_session.from_state = true;
      break;
    case Shape::ExportMessage:
      record.kind = Kind::MessageState;
      record.wire_type = "message";
      if (!all.info.session.empty()) record.session = all.info.session;
      break;
    default:
      record.kind = Kind::PartState;
      record.wire_type = "part";
      if (!all.part_session.empty()) record.session = all.part_session;
      break;
  }
}

// OpenCode's own sanitising replaces whole values by "[redacted:KIND:ID]". The same words inside a
// longer text, or quoted in one, are content.
bool is_sanitized(std::string_view raw) {
  constexpr std::string_view kMark = "\"[redacted:";
  for (auto at = raw.find(kMark); at != std::string_view::npos; at = raw.find(kMark, at + 1)) {
    if (at > 0 && raw[at - 1] == '\\') continue;
    const auto end = raw.find('"', at + kMark.size());
    if (end == std::string_view::npos) return false;
    const std::string_view value = raw.substr(at + kMark.size(), end - at - kMark.size());
    const auto colon = value.find(':');
    const bool whole = value.ends_with(']') && colon != std::string_view::npos &&
                       value.find_first_of(" \\") == std::string_view::npos;
    if (whole && raw.find(value.substr(colon + 1, value.size() - colon - 2)) < at + end)
      return true;
  }
  return false;
}

Record decode_exported(std::string_view raw, Shape shape, std::string_view session) {
  json::Reader& json = reader();
  if (!json.load(raw)) return malformed();
  const auto object = json.object();
  if (!object) return malformed();
  auto all = std::make_unique<Gathered>();
  if (shape == Shape::ExportPart) {
    all->has_part = true;
    decode_detail::read_part(*object, all->part, all->part_session, all->notes);
  } else {
    all->has_info = true;
    decode_detail::read_info(*object, all->info, all->notes);
  }
  Record record;
  record.shape = shape;
  record.session = session;
  set_exported(record, *all);
  if (!record.session.empty() && !is_session_id(record.session)) {
    record.session.clear();
    record.problems |= kIdentityMismatch;
    record.problem_detail = "a session id that cannot be one";
  }
  take_notes(record, all->notes, json.repaired());
  record.sanitized = is_sanitized(raw);
  if (shape == Shape::ExportMessage) {
    record.time_ms = all->info.as_message.created_ms;
  } else if (shape == Shape::ExportSession) {
    record.time_ms = all->info.as_session.created_ms;
  } else {
    record.time_ms = all->part.start_ms;
  }
  set_body(record, *all);
  return record;
}

}  // namespace

Record decode_record(std::string_view raw) {
  return raw.size() > kDecodeLimitBytes ? malformed() : decode_line(raw);
}

Record decode_record(std::string_view raw, Shape shape, std::string_view session) {
  Record record;
  record.shape = shape;
  const bool oversized = raw.size() > kDecodeLimitBytes && shape != Shape::OutputFile;
  if (shape == Shape::Malformed || oversized) {
    record.problems = kMalformed;
    record.session = session;
    return record;
  }
  if (shape == Shape::Talk || shape == Shape::ExportOther) {
    record.kind = shape == Shape::Talk ? Kind::Passing : Kind::Unknown;
    record.wire_type = shape == Shape::Talk ? "talk" : "export";
    record.session = session;
    return record;
  }
  if (shape == Shape::OutputFile) {
    record.kind = Kind::OutputFile;
    record.session = session;
    return record;
  }
  if (shape == Shape::DatabaseRow) return decode_detail::decode_database_row(reader(), raw);
  return is_state_shape(shape) ? decode_exported(raw, shape, session) : decode_line(raw);
}

}  // namespace respool
