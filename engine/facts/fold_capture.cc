#include "engine/facts/fold_capture.h"

#include <array>
#include <string_view>

#include <fmt/format.h>

#include "schema/digest.h"

#include "engine/facts/gap_kind.h"
#include "engine/facts/join.h"

namespace respool::fold_detail {
namespace {

// Content decides between two notes of one moment, so that order does not.
bool wins(std::int64_t time,
          std::uint64_t digest,
          std::optional<std::int64_t> kept,
          std::uint64_t kept_digest) {
  return !kept || std::tuple(time, digest) > std::tuple(*kept, kept_digest);
}

template <class Optional>
std::optional<std::int64_t> plain(const Optional& value) {
  return value ? std::optional<std::int64_t>(*value) : std::nullopt;
}

// The latest text that is none of the empty ones; of one moment, the greatest.
template <class Optional>
void keep_text(std::string& text, Optional& at, const std::string& said, std::int64_t time) {
  if (said.empty() || (at && std::tie(time, said) <= std::tie(*at, text))) return;
  text = said;
  at = time;
}

void take_start(fb::RunRowT& run, const fb::RunRowT& start) {
  run.host = start.host;
  run.directory = start.directory;
  run.opencode_version = start.opencode_version;
  run.opencode_path = start.opencode_path;
  run.agent = start.agent;
  run.model = start.model;
  run.mode = start.mode;
  run.auto_approve = start.auto_approve;
  run.resumed = start.resumed;
  run.key = start.key;
  run.argv = start.argv;
  run.variables = start.variables;
  run.git_remote = start.git_remote;
  run.git_branch = start.git_branch;
  run.git_commit = start.git_commit;
  run.git_dirty = start.git_dirty;
  run.prompt_bytes = start.prompt_bytes;
}

void take_end(fb::RunRowT& run, const fb::RunRowT& end) {
  run.exit = end.exit;
  run.signal = end.signal;
  run.outcome = end.outcome;
  run.reason = end.reason;
  run.stderr_tail = end.stderr_tail;
}

constexpr auto kReplayTexts = std::to_array<std::string fb::ReplayRowT::*>({
    &fb::ReplayRowT::id,
    &fb::ReplayRowT::kind,
    &fb::ReplayRowT::rung,
    &fb::ReplayRowT::from_session,
    &fb::ReplayRowT::to_session,
    &fb::ReplayRowT::host,
    &fb::ReplayRowT::directory,
    &fb::ReplayRowT::point,
    &fb::ReplayRowT::replay_id,
    &fb::ReplayRowT::digest,
    &fb::ReplayRowT::prompt_digest,
    &fb::ReplayRowT::reason,
});

// The time that a step sets, nothing for a step this build does not know.
auto replay_time(fb::ReplayRowT& row, std::string_view step) {
  auto* at = &row.planned_ms;
  if (step == "created") at = &row.created_ms;
  if (step == "seeded") at = &row.seeded_ms;
  if (step == "verified") at = &row.verified_ms;
  if (step == "bound") at = &row.bound_ms;
  if (step == "failed") at = &row.failed_ms;
  return step == "planned" || at != &row.planned_ms ? at : nullptr;
}

}  // namespace

void fold_run(SessionFacts& facts, const EventContext& event, const Record& record) {
  const auto* body = std::get_if<RunBody>(&record.body);
  if (body == nullptr || !is_plain_id(body->row.id)) return;
  const std::int64_t time = event.time_ms.value_or(0);
  const std::uint64_t digest = content_hash(encode(body->row));
  auto& run = facts.runs[body->row.id];
  run.id = body->row.id;
  keep_earliest(run.first_ms, time);
  keep_latest(run.last_ms, time);
  if (record.kind == Kind::RunStarted) {
    if (wins(time, digest, plain(run.started_ms), run.started_digest)) {
      run.started_ms = time;
      run.started_digest = digest;
      take_start(run, body->row);
    }
  } else if (wins(time, digest, plain(run.ended_ms), run.ended_digest)) {
    run.ended_ms = time;
    run.ended_digest = digest;
    take_end(run, body->row);
  }
  touch(facts, FactKind::Run, run.id);
}

// A run without anyone to ask refuses by itself; its standard error is all that shows it.
void fold_stderr(SessionFacts& facts, const EventContext& event, const Record& record) {
  const auto* body = std::get_if<StderrBody>(&record.body);
  if (body == nullptr || !body->refusal) return;
  const std::int64_t time = event.time_ms.value_or(0);
  const std::string id = fmt::format("{}:{:013}:{:016x}", body->run, time, content_hash(event.raw));
  if (!is_plain_id(id)) return;
  auto& row = facts.asks[id];
  if (row.sources == 0) {
    row = *body->refusal;
    row.id = id;
    row.asked_ms = row.replied_ms = time;
    row.ref = event.ref;
  } else if (earlier(event.ref, row.ref)) {
    row.ref = event.ref;
  }
  row.sources |= source_bit(event.shape);
  touch(facts, FactKind::Ask, id);
}

void fold_lost(SessionFacts& facts, const EventContext& event, const Record& record) {
  const auto* body = std::get_if<LostBody>(&record.body);
  if (body == nullptr) return;
  const std::string identity = fmt::format("{:03} {:013} {:016x}",
                                           static_cast<unsigned>(GapKind::Lost),
                                           event.time_ms.value_or(0),
                                           content_hash(event.raw));
  auto& row = facts.problems[identity];
  row.kind = static_cast<std::uint8_t>(GapKind::Lost);
  row.detail = fmt::format("{} records of {} bytes could not be kept", body->records, body->bytes);
  row.count = 1;
  row.ref = event.ref;
  row.recording = event.recording;
  row.place = event.place;
  touch(facts, FactKind::Problem, identity);
}

void fold_binding(SessionFacts& facts, const EventContext& event, const Record& record) {
  const auto* body = std::get_if<BindingBody>(&record.body);
  if (body == nullptr || body->row.host.empty()) return;
  const std::int64_t time = event.time_ms.value_or(0);
  const auto& said = body->row;
  std::string identity = said.host;
  identity.push_back('\0');
  identity += said.directory;
  auto& row = facts.bindings[identity];
  row.host = said.host;
  row.directory = said.directory;
  touch(facts, FactKind::Binding, identity);
  if (record.kind == Kind::SessionGone) {
    keep_text(row.dead_reason, row.dead_ms, said.dead_reason, time);
    facts.session_dirty |= keep_latest(facts.session.gone_ms, time);
    return;
  }
  keep_latest(row.seen_ms, time);
  facts.session_dirty |= keep_latest(facts.session.bound_ms, time);
  keep_text(row.project, row.project_ms, said.project, time);
  keep_text(row.database, row.database_ms, said.database, time);
  keep_text(row.opencode_version, row.opencode_version_ms, said.opencode_version, time);
  keep_text(row.key, row.key_ms, said.key, time);
  const auto git = std::tie(said.git_remote, said.git_branch, said.git_commit, said.git_dirty);
  const auto kept_git = std::tie(row.git_remote, row.git_branch, row.git_commit, row.git_dirty);
  if (body->has_git &&
      (!row.git_ms || time > *row.git_ms || (time == *row.git_ms && git > kept_git))) {
    row.git_ms = time;
    row.git_remote = said.git_remote;
    row.git_branch = said.git_branch;
    row.git_commit = said.git_commit;
    row.git_dirty = said.git_dirty;
  }
}

void fold_replay(SessionFacts& facts, const EventContext& event, const Record& record) {
  const auto* body = std::get_if<ReplayBody>(&record.body);
  if (body == nullptr || !is_plain_id(body->row.id)) return;
  const std::int64_t time = event.time_ms.value_or(0);
  const auto& said = body->row;
  auto& row = facts.replays[said.id];
  for (const auto text : kReplayTexts)
    row.*text = std::max(row.*text, said.*text);
  if (said.messages > row.messages) {
    row.messages = said.messages;
    facts.all_steps = true;
  }
  note_own_copies(facts, row);
  if (const auto at = replay_time(row, body->step)) keep_earliest(*at, time);
  touch(facts, FactKind::Replay, said.id);
  const bool arrives =
      row.bound_ms && row.to_session == facts.name.text && row.from_session != row.to_session;
  auto& session = facts.session;
  if (!arrives || (session.continues_ms && std::tie(*session.continues_ms, session.continues) >=
                                               std::tie(*row.bound_ms, row.from_session)))
    return;
  session.continues = row.from_session;
  session.continues_as = row.kind;
  session.continues_ms = row.bound_ms;
  facts.session_dirty = true;
}

void fold_output_file(SessionFacts& facts, const EventContext& event) {
  const std::string path(event.wire_type);
  if (path.empty()) return;
  const std::uint64_t digest = content_hash(event.raw);
  auto& row = facts.output_files[path];
  const std::uint64_t bytes = event.raw_bytes;
  const bool known = !row.path.empty();
  if (known && std::tie(bytes, digest) < std::tie(row.bytes, row.digest)) return;
  if (known && bytes == row.bytes && digest == row.digest && !earlier(event.ref, row.ref)) return;
  row.path = path;
  row.bytes = bytes;
  row.digest = digest;
  row.ref = event.ref;
  touch(facts, FactKind::OutputFile, path);
}

}  // namespace respool::fold_detail
