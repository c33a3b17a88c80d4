#include "schema/opencode/decode_note.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "schema/opencode/decode_part.h"
#include "schema/opencode/plain_text.h"

namespace respool::decode_detail {
namespace {

using json::each_element;
using json::each_field;
using json::Object;
using json::Value;

constexpr std::size_t kPathBytes = 4096;

std::vector<std::string> texts_of(Value& value, Notes& notes, std::size_t most = 256) {
  std::vector<std::string> texts;
  auto array = json::array_of(value);
  if (!array) return texts;
  const bool whole = each_element(*array, [&](Value element) {
    if (texts.size() < most) texts.push_back(json::text(element, kPathBytes));
  });
  if (!whole) notes.broken = true;
  return texts;
}

template <class Row>
void read_git(Value& value, Row& row, Notes& notes) {
  auto object = json::object_of(value);
  if (!object) return;
  const bool whole = each_field(*object, [&](std::string_view key, Value field) {
    if (key == "remote") row.git_remote = json::text(field, kPathBytes);
    if (key == "branch") row.git_branch = json::text(field, kPathBytes);
    if (key == "commit") row.git_commit = json::text(field, kNameBytes);
    if (key == "dirty") row.git_dirty = json::is_true(field);
  });
  if (!whole) notes.broken = true;
}

// Where each text field of a run's notes goes.
std::string* run_text(std::string_view key, fb::RunRowT& run) {
  if (key == "run") return &run.id;
  if (key == "host") return &run.host;
  if (key == "directory") return &run.directory;
  if (key == "opencode_version") return &run.opencode_version;
  if (key == "opencode_path") return &run.opencode_path;
  if (key == "agent") return &run.agent;
  if (key == "model") return &run.model;
  if (key == "mode") return &run.mode;
  if (key == "resumed") return &run.resumed;
  if (key == "key") return &run.key;
  if (key == "signal") return &run.signal;
  if (key == "outcome") return &run.outcome;
  if (key == "reason") return &run.reason;
  if (key == "stderr_tail") return &run.stderr_tail;
  return nullptr;
}

RunBody read_run(Object object, Notes& notes) {
  RunBody body;
  auto& run = body.row;
  const bool whole = each_field(object, [&](std::string_view key, Value field) {
    if (std::string* const text = run_text(key, run)) {
      *text = json::text(field, kPathBytes);
    } else if (key == "argv") {
      run.argv = texts_of(field, notes);
    } else if (key == "variables") {
      run.variables = texts_of(field, notes);
    } else if (key == "auto") {
      run.auto_approve = json::is_true(field);
    } else if (key == "prompt_bytes") {
      run.prompt_bytes = static_cast<std::uint64_t>(json::integer(field).value_or(0));
    } else if (key == "exit") {
      run.exit = json::integer(field);
    } else if (key == "git") {
      read_git(field, run, notes);
    }
  });
  if (!whole) notes.broken = true;
  return body;
}

BindingBody read_binding(Object object, Notes& notes) {
  BindingBody body;
  auto& row = body.row;
  const bool whole = each_field(object, [&](std::string_view key, Value field) {
    if (key == "host") row.host = json::text(field, kNameBytes);
    if (key == "directory") row.directory = json::text(field, kPathBytes);
    if (key == "project") row.project = json::text(field, kNameBytes);
    if (key == "database") row.database = json::text(field, kPathBytes);
    if (key == "opencode_version") row.opencode_version = json::text(field, kNameBytes);
    if (key == "key") row.key = json::text(field, kNameBytes);
    if (key == "reason") row.dead_reason = json::text(field, kNameBytes);
    if (key == "git") {
      body.has_git = true;
      read_git(field, row, notes);
    }
  });
  if (!whole) notes.broken = true;
  return body;
}

// Where each text field of a continuation's notes goes.
std::string* replay_text(std::string_view key, ReplayBody& body) {
  if (key == "id") return &body.row.id;
  if (key == "step") return &body.step;
  if (key == "kind") return &body.row.kind;
  if (key == "rung") return &body.row.rung;
  if (key == "from") return &body.row.from_session;
  if (key == "to") return &body.row.to_session;
  if (key == "host") return &body.row.host;
  if (key == "directory") return &body.row.directory;
  if (key == "point") return &body.row.point;
  if (key == "replay_id") return &body.row.replay_id;
  if (key == "digest") return &body.row.digest;
  if (key == "prompt_digest") return &body.row.prompt_digest;
  if (key == "reason") return &body.row.reason;
  return nullptr;
}

ReplayBody read_replay(Object object, Notes& notes) {
  ReplayBody body;
  const bool whole = each_field(object, [&](std::string_view key, Value field) {
    if (std::string* const text = replay_text(key, body)) {
      *text = json::text(field, kPathBytes);
    } else if (key == "messages") {
      constexpr std::size_t kMaxIds = 1 << 20;
      body.row.messages = texts_of(field, notes, kMaxIds);
    }
  });
  if (!whole) notes.broken = true;
  return body;
}

// "! permission requested: bash (git push, git tag); auto-rejecting", as OpenCode 1.1 to 1.18 say.
std::optional<fb::AskRowT> refusal_in(const std::string& text) {
  constexpr std::string_view kAsked = "permission requested: ";
  constexpr std::string_view kRefused = "; auto-rejecting";
  const auto begin = text.find(kAsked);
  if (begin == std::string::npos) return std::nullopt;
  const auto end = text.find(kRefused, begin);
  if (end == std::string::npos) return std::nullopt;
  const std::string request = text.substr(begin + kAsked.size(), end - begin - kAsked.size());
  fb::AskRowT ask;
  const auto open = request.find(" (");
  ask.permission = request.substr(0, open);
  if (open != std::string::npos && request.ends_with(')'))
    ask.patterns.push_back(request.substr(open + 2, request.size() - open - 3));
  ask.reply = "reject";
  ask.by = "run";
  return ask;
}

StderrBody read_stderr(Object object, Notes& notes) {
  StderrBody body;
  const bool whole = each_field(object, [&](std::string_view key, Value field) {
    if (key == "text") body.refusal = refusal_in(plain_text(json::text(field, kPathBytes)));
    if (key == "run") body.run = json::text(field, kNameBytes);
  });
  if (!whole) notes.broken = true;
  return body;
}

DamagedBody read_damaged(Object object, Notes& notes) {
  DamagedBody body;
  const bool whole = each_field(object, [&](std::string_view key, Value field) {
    if (key == "file") body.file = json::text(field, kPathBytes);
    if (key == "what") body.what = json::text(field, kNameBytes);
  });
  if (!whole) notes.broken = true;
  return body;
}

LostBody read_lost(Object object, Notes& notes) {
  LostBody body;
  const bool whole = each_field(object, [&](std::string_view key, Value field) {
    if (key == "records") body.records = json::integer(field).value_or(0);
    if (key == "bytes") body.bytes = json::integer(field).value_or(0);
  });
  if (!whole) notes.broken = true;
  return body;
}

}  // namespace

bool is_note_kind(Kind kind) {
  switch (kind) {
    case Kind::RunStarted:
    case Kind::RunEnded:
    case Kind::RunStderr:
    case Kind::Lost:
    case Kind::Damaged:
    case Kind::Binding:
    case Kind::SessionGone:
    case Kind::ReplayStep:
      return true;
    default:
      return false;
  }
}

void read_note(Object object, Record& record, Notes& notes) {
  switch (record.kind) {
    case Kind::RunStarted:
    case Kind::RunEnded:
      record.body = read_run(object, notes);
      return;
    case Kind::RunStderr:
      record.body = read_stderr(object, notes);
      return;
    case Kind::Lost:
      record.body = read_lost(object, notes);
      return;
    case Kind::Damaged:
      record.body = read_damaged(object, notes);
      return;
    case Kind::Binding:
    case Kind::SessionGone:
      record.body = read_binding(object, notes);
      return;
    case Kind::ReplayStep:
      record.body = read_replay(object, notes);
      return;
    default:
      return;
  }
}

}  // namespace respool::decode_detail

namespace respool {

std::optional<RecordingHeaderFields> decode_recording_header(std::string_view line) {
  thread_local auto reader = std::make_unique<json::Reader>();
  const auto object = reader->load(line) ? reader->object() : std::nullopt;
  if (!object) return std::nullopt;
  RecordingHeaderFields fields;
  const bool whole = json::each_field(*object, [&](std::string_view key, json::Value field) {
    constexpr std::size_t kTextBytes = 4096;
    if (key == "id") fields.id = json::text(field, kTextBytes);
    if (key == "source") fields.source = json::text(field, kTextBytes);
    if (key == "host") fields.host = json::text(field, kTextBytes);
    if (key == "run") fields.run = json::text(field, kTextBytes);
    if (key == "session") fields.session = json::text(field, kTextBytes);
    if (key == "directory") fields.directory = json::text(field, kTextBytes);
    if (key == "started_ms") fields.started_ms = json::integer(field).value_or(0);
  });
  return whole ? std::optional(std::move(fields)) : std::nullopt;
}

}  // namespace respool
