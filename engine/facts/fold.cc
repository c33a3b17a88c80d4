#include "engine/facts/fold.h"

#include <algorithm>

#include <fmt/format.h>

#include "schema/digest.h"
#include "schema/opencode/id_time.h"

#include "engine/facts/fold_capture.h"
#include "engine/facts/gap_kind.h"
#include "engine/facts/join.h"

namespace respool {
namespace {

using fold_detail::add_origin;
using fold_detail::as_of;
using fold_detail::AsOf;
using fold_detail::comparable;
using fold_detail::join;
using fold_detail::join_removal;
using fold_detail::keep_earliest;
using fold_detail::keep_latest;
using fold_detail::removal_bits;
using fold_detail::source_bit;
using fold_detail::touch;

// ---------------------------------------------------------------- one kind of record each

void fold_session(SessionFacts& facts, const EventContext& event, const Record& record) {
  const auto* row = std::get_if<fb::SessionRowT>(&record.body);
  if (row == nullptr) return;
  // Registers of the session are kept while its info is joined, so copy the content alone.
  const auto created = facts.session.created_ms;
  if (!join(facts.session, *row, event, record)) return;
  facts.session_dirty = true;
  if (facts.session.created_ms != created) facts.all_steps = true;
}

void fold_message(SessionFacts& facts, const EventContext& event, const Record& record) {
  const auto* row = std::get_if<fb::MessageRowT>(&record.body);
  if (row == nullptr) return;
  auto& message = facts.messages[row->id];
  if (!message.row) {
    message.row.emplace();
    message.row->id = row->id;
  }
  if (!join(*message.row, *row, event, record)) return;
  touch(facts, FactKind::Message, row->id);
  facts.dirty_messages.insert(row->id);
}

void fold_part(SessionFacts& facts, const EventContext& event, const Record& record) {
  const auto* row = std::get_if<fb::PartRowT>(&record.body);
  if (row == nullptr) return;
  auto& part = facts.messages[row->message].parts[row->id];
  fb::PartRowT content = *row;
  const auto line_ms = std::exchange(content.line_ms, flatbuffers::nullopt);
  bool changed = join(part, std::move(content), event, record);
  if (line_ms) changed |= keep_earliest(part.line_ms, *line_ms);
  if (!changed) return;
  touch(facts, FactKind::Part, part_identity(row->message, row->id));
  facts.dirty_messages.insert(row->message);
}

void fold_removal(SessionFacts& facts, const EventContext& event, const Record& record) {
  const std::uint64_t bits = removal_bits(event, record);
  if (record.kind == Kind::SessionRemoved) {
    if (join_removal(facts.session, bits)) facts.session_dirty = facts.all_steps = true;
    return;
  }
  const auto* removed = std::get_if<RemovedBody>(&record.body);
  if (removed == nullptr || removed->message.empty()) return;
  auto& message = facts.messages[removed->message];
  facts.dirty_messages.insert(removed->message);
  if (record.kind == Kind::MessageRemoved) {
    if (!message.row) {
      message.row.emplace();
      message.row->id = removed->message;
    }
    if (join_removal(*message.row, bits)) touch(facts, FactKind::Message, removed->message);
    return;
  }
  if (removed->part.empty()) return;
  auto& part = message.parts[removed->part];
  part.id = removed->part;
  part.message = removed->message;
  if (join_removal(part, bits))
    touch(facts, FactKind::Part, part_identity(removed->message, removed->part));
}

void fold_status(SessionFacts& facts, const EventContext& event, const Record& record) {
  auto& session = facts.session;
  const auto* status = std::get_if<StatusBody>(&record.body);
  const bool idle =
      record.kind == Kind::SessionIdle || (status != nullptr && status->type == "idle");
  if (idle) facts.session_dirty |= keep_latest(session.idle_ms, event.time_ms);
  if (status != nullptr && status->type == "retry") {
    facts.session_dirty |= keep_latest(session.retry_ms, event.time_ms);
  }
  if (record.kind == Kind::Compacted)
    facts.session_dirty |= keep_latest(session.compacted_ms, event.time_ms);
}

void fold_error(SessionFacts& facts, const EventContext& event, const Record& record) {
  const auto* error = std::get_if<ErrorBody>(&record.body);
  if (error == nullptr) return;
  const std::int64_t time = event.time_ms.value_or(0);
  const std::string key =
      fmt::format("{:020} {} {:016x}", time, error->name, content_hash(error->text));
  auto& row = facts.errors[key];
  if (row.sources == 0) {
    row.name = error->name;
    row.text = error->text;
    row.time_ms = time;
    row.status_code = error->status_code;
    row.ref = event.ref;
  }
  if (row.run < event.run) row.run = event.run;
  row.sources |= source_bit(event.shape);
  touch(facts, FactKind::Error, key);
}

// A request and its answer are two registers of one row: the earliest request and the earliest
// answer count, equal times by content.
void fold_ask(SessionFacts& facts, const EventContext& event, const Record& record) {
  const auto* body = std::get_if<AskBody>(&record.body);
  if (body == nullptr) return;
  auto& row = facts.asks[body->row.id];
  const std::uint64_t digest = content_hash(encode(body->row));
  const std::int64_t time = event.time_ms.value_or(0);
  row.id = body->row.id;
  row.question |= body->row.question;
  row.sources |= source_bit(event.shape);
  if (body->asked) {
    if (!row.asked_ms || std::tuple(time, digest) < std::tuple(*row.asked_ms, row.asked_digest)) {
      row.asked_ms = time;
      row.asked_digest = digest;
      row.permission = body->row.permission;
      row.patterns = body->row.patterns;
      row.always = body->row.always;
      row.message = body->row.message;
      row.call = body->row.call;
      row.ref = event.ref;
    }
  } else if (!row.replied_ms ||
             std::tuple(time, digest) < std::tuple(*row.replied_ms, row.replied_digest)) {
    row.replied_ms = time;
    row.replied_digest = digest;
    row.reply = body->row.reply;
    row.answers = body->row.answers;
  }
  touch(facts, FactKind::Ask, row.id);
}

void fold_todos(SessionFacts& facts, const EventContext& event, const Record& record) {
  const auto* todos = std::get_if<TodosBody>(&record.body);
  if (todos == nullptr) return;
  const AsOf moment = as_of(event, record);
  const std::uint64_t digest = (static_cast<std::uint64_t>(todos->count) << 32) | todos->done;
  const fb::JoinKey key(moment.ms, digest, moment.counter, 0, 1);
  auto& session = facts.session;
  if (std::tuple(comparable(key), digest) <=
      std::tuple(comparable(session.todo_key), session.todo_key.digest()))
    return;
  session.todo_key = key;
  session.todo_ref = event.ref;
  session.todos = todos->count;
  session.todos_done = todos->done;
  facts.session_dirty = true;
}

void fold_command(SessionFacts& facts, const EventContext& event, const Record& record) {
  const auto* body = std::get_if<CommandBody>(&record.body);
  if (body == nullptr) return;
  auto& row = facts.commands[body->row.message];
  const std::uint64_t digest = content_hash(body->row.name);
  const std::int64_t time = event.time_ms.value_or(0);
  if (row.time_ms && std::tuple(time, digest) <= std::tuple(*row.time_ms, row.digest)) return;
  row = body->row;
  row.time_ms = time;
  row.digest = digest;
  row.ref = event.ref;
  touch(facts, FactKind::Command, row.message);
}

void fold_prompt(SessionFacts& facts, const EventContext& event, const Record& record) {
  const auto* prompt = std::get_if<PromptBody>(&record.body);
  if (prompt == nullptr) return;
  const std::string id = fmt::format("{:020} {}", event.time_ms.value_or(0), event.run);
  auto& row = facts.prompts[id];
  if (!row.id.empty() &&
      std::tie(row.text_bytes, row.digest) >= std::tie(prompt->text_bytes, prompt->digest))
    return;
  row.digest = prompt->digest;
  row.id = id;
  row.time_ms = event.time_ms;
  row.ref = event.ref;
  row.text_bytes = prompt->text_bytes;
  row.run = event.run;
  touch(facts, FactKind::Prompt, id);
}

// ---------------------------------------------------------------- beside the facts

void add_problem(SessionFacts& facts,
                 const EventContext& event,
                 GapKind kind,
                 std::string_view detail) {
  // Unreadable records are listed one by one; what is known by its type is counted.
  const bool one_by_one = kind == GapKind::Malformed || kind == GapKind::Truncated;
  const std::string which = one_by_one ? fmt::format(" {:016x}", content_hash(event.raw)) : "";
  const std::string identity =
      fmt::format("{:03} {}{}", static_cast<unsigned>(kind), detail, which);
  auto& row = facts.problems[identity];
  if (row.count == 0) {
    row.kind = static_cast<std::uint8_t>(kind);
    row.detail = detail;
    row.ref = event.ref;
    row.recording = event.recording;
    row.place = event.place;
  }
  ++row.count;
  touch(facts, FactKind::Problem, identity);
}

void note_problems(SessionFacts& facts, const EventContext& event, const Record& record) {
  if (event.raw_bytes > kDecodeLimitBytes) {
    add_problem(
        facts, event, GapKind::Malformed, "record above the decode limit, kept but not read");
    return;
  }
  if (const auto* damaged = std::get_if<DamagedBody>(&record.body)) {
    add_problem(
        facts, event, GapKind::Malformed, fmt::format("{}: {}", damaged->file, damaged->what));
    return;
  }
  if (event.shape == Shape::Malformed && !event.wire_type.empty() &&
      event.wire_type != kTruncatedType) {
    add_problem(
        facts, event, GapKind::Malformed, fmt::format("{}: not whole JSON", event.wire_type));
    return;
  }
  if (event.shape == Shape::Malformed) {
    const bool cut = event.wire_type == kTruncatedType;
    add_problem(facts,
                event,
                cut ? GapKind::Truncated : GapKind::Malformed,
                cut ? "the document breaks off" : "not JSON");
    return;
  }
  if ((record.problems & kMalformed) != 0) {
    add_problem(facts, event, GapKind::Malformed, "JSON breaks off");
  }
  if ((record.problems & kRepaired) != 0) {
    add_problem(
        facts, event, GapKind::Malformed, "bad UTF-8 or control characters, read after repair");
  }
  if ((record.problems & kIdentityMismatch) != 0) {
    add_problem(facts, event, GapKind::IdentityMismatch, record.problem_detail);
  }
  if ((record.problems & kUnknownVariant) != 0) {
    add_problem(facts, event, GapKind::UnknownVariant, record.problem_detail);
  }
  if (record.kind == Kind::Unknown && !is_known_member(event.wire_type)) {
    add_problem(
        facts, event, GapKind::UnknownType, event.wire_type.empty() ? "no type" : event.wire_type);
  }
  if (record.kind == Kind::Foreign)
    add_problem(facts, event, GapKind::ForeignSchema, record.wire_type);
}

void note_sequence(SessionFacts& facts, const Record& record) {
  if (!record.sequence) return;
  const std::uint64_t number = *record.sequence;
  auto& ranges = facts.sequence.ranges;
  auto at = std::lower_bound(
      ranges.begin(), ranges.end(), number, [](const fb::SeqRange& range, std::uint64_t n) {
        return range.last() < n;
      });
  if (at != ranges.end() && at->first() <= number) return;
  const bool joins_next = at != ranges.end() && number + 1 == at->first();
  const bool joins_previous = at != ranges.begin() && std::prev(at)->last() + 1 == number;
  if (joins_next && joins_previous) {
    *std::prev(at) = fb::SeqRange(std::prev(at)->first(), at->last());
    ranges.erase(at);
  } else if (joins_next) {
    *at = fb::SeqRange(number, at->last());
  } else if (joins_previous) {
    *std::prev(at) = fb::SeqRange(std::prev(at)->first(), number);
  } else {
    ranges.insert(at, fb::SeqRange(number, number));
  }
  touch(facts, FactKind::Sequence, "");
}

// The last moment an observation speaks for: its own, or that of the records it stands for.
std::optional<std::int64_t> last_moment(const EventContext& event, const Record& record) {
  const auto* source = std::get_if<SourceBody>(&record.body);
  return source != nullptr && source->until_ms ? source->until_ms : event.time_ms;
}

void note_run(SessionFacts& facts, const EventContext& event, const Record& record) {
  if (event.run.empty()) return;
  const std::string id(event.run);
  auto& run = facts.runs[id];
  run.id = id;
  keep_earliest(run.first_ms, event.time_ms);
  keep_latest(run.last_ms, last_moment(event, record));
  touch(facts, FactKind::Run, id);
}

// What every observation says about its session: when, where, by which source.
void note_session(SessionFacts& facts, const EventContext& event, const Record& record) {
  auto& session = facts.session;
  if (session.id.empty()) {
    session.id = facts.name.text;
    facts.session_dirty = true;
  }
  facts.session_dirty |= keep_earliest(session.first_ms, event.time_ms);
  facts.session_dirty |= keep_latest(session.last_ms, event.time_ms);
  const std::size_t origins = session.origins.size();
  add_origin(session.origins, event.ref.origin());
  facts.session_dirty |= session.origins.size() != origins;
  if (event.host.empty()) return;
  const std::int64_t time = last_moment(event, record).value_or(0);
  const std::string host(event.host);
  if (session.host_at_ms && std::tie(time, host) <= std::tie(*session.host_at_ms, session.host))
    return;
  session.host_at_ms = time;
  session.host = host;
  facts.session_dirty = true;
}

}  // namespace

EventContext context_of(const StoredEvent& event) {
  return EventContext{
      .ref = fb::EventRef(event.event.value, static_cast<std::uint32_t>(event.origin.value)),
      .shape = event.shape(),
      .wire_type = event.header.wire_type,
      .time_ms = event.header.time_ms,
      .as_of_ms = event.header.as_of_ms,
      .host = event.header.host,
      .run = event.header.run,
      .raw_bytes = event.header.raw_bytes,
      .raw = event.raw,
      .recording = event.header.recording,
      .place = event.header.place};
}

void fold(SessionFacts& facts, const EventContext& event, const Record& record) {
  note_problems(facts, event, record);
  if (facts.name.kind != StreamKind::Session) {
    if (record.kind == Kind::Lost) fold_detail::fold_lost(facts, event, record);
    return;
  }
  note_session(facts, event, record);
  if ((record.problems & kIdentityMismatch) != 0) return;
  note_sequence(facts, record);
  note_run(facts, event, record);
  switch (record.kind) {
    case Kind::SessionState:
      return fold_session(facts, event, record);
    case Kind::MessageState:
      return fold_message(facts, event, record);
    case Kind::PartState:
      return fold_part(facts, event, record);
    case Kind::SessionRemoved:
    case Kind::MessageRemoved:
    case Kind::PartRemoved:
      return fold_removal(facts, event, record);
    case Kind::SessionStatus:
    case Kind::SessionIdle:
    case Kind::Compacted:
      return fold_status(facts, event, record);
    case Kind::SessionError:
      return fold_error(facts, event, record);
    case Kind::PermissionAsked:
    case Kind::PermissionReplied:
    case Kind::QuestionAsked:
    case Kind::QuestionReplied:
    case Kind::QuestionRejected:
      return fold_ask(facts, event, record);
    case Kind::Todos:
      return fold_todos(facts, event, record);
    case Kind::CommandExecuted:
      return fold_command(facts, event, record);
    case Kind::Prompt:
      return fold_prompt(facts, event, record);
    case Kind::RunStarted:
    case Kind::RunEnded:
      return fold_detail::fold_run(facts, event, record);
    case Kind::RunStderr:
      return fold_detail::fold_stderr(facts, event, record);
    case Kind::Lost:
      return fold_detail::fold_lost(facts, event, record);
    case Kind::Binding:
    case Kind::SessionGone:
      return fold_detail::fold_binding(facts, event, record);
    case Kind::ReplayStep:
      return fold_detail::fold_replay(facts, event, record);
    case Kind::OutputFile:
      return fold_detail::fold_output_file(facts, event);
    case Kind::Source:
    case Kind::Damaged:
    case Kind::Passing:
    case Kind::Foreign:
    case Kind::Unknown:
      return;
  }
}

void fold(SessionFacts& facts, const StoredEvent& event) {
  const bool has_session = facts.name.kind == StreamKind::Session;
  const Record record = decode_record(event.raw, event.shape(), has_session ? facts.name.text : "");
  fold(facts, context_of(event), record);
}

}  // namespace respool
