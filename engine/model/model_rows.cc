#include "engine/model/model_rows.h"

#include <algorithm>

#include <fmt/format.h>

#include "engine/storage/keys.h"

namespace respool {
namespace {

std::string place(SessionNumber number, char kind) {
  return fmt::format("model, stream {}, rows '{}'", number.value, kind);
}

// Decodes a row and puts it where its identity belongs.
template <class Row>
Result<void> put_row(std::map<std::string, Row>& rows,
                     const keys::FactKey& key,
                     std::string_view value) {
  RESPOOL_TRY(auto row, decode<Row>(value, place(key.session, key.kind)));
  rows[std::string(key.identity)] = std::move(row);
  return ok();
}

Result<void> load_fact(SessionFacts& facts, const keys::FactKey& key, std::string_view value) {
  const std::string identity(key.identity);
  switch (static_cast<FactKind>(key.kind)) {
    case FactKind::Message: {
      RESPOOL_TRY(auto row, decode<fb::MessageRowT>(value, place(key.session, key.kind)));
      facts.messages[identity].row = std::move(row);
      return ok();
    }
    case FactKind::Part: {
      RESPOOL_TRY(auto row, decode<fb::PartRowT>(value, place(key.session, key.kind)));
      auto& parts = facts.messages[row.message].parts;
      const std::string id = row.id;
      parts.insert_or_assign(id, std::move(row));
      return ok();
    }
    case FactKind::Ask:
      return put_row(facts.asks, key, value);
    case FactKind::Command:
      return put_row(facts.commands, key, value);
    case FactKind::Error:
      return put_row(facts.errors, key, value);
    case FactKind::Prompt:
      return put_row(facts.prompts, key, value);
    case FactKind::Run:
      return put_row(facts.runs, key, value);
    case FactKind::Problem:
      return put_row(facts.problems, key, value);
    case FactKind::Binding:
      return put_row(facts.bindings, key, value);
    case FactKind::OutputFile:
      return put_row(facts.output_files, key, value);
    case FactKind::Replay: {
      RESPOOL_TRY(put_row(facts.replays, key, value));
      note_own_copies(facts, facts.replays.at(identity));
      return ok();
    }
    case FactKind::Sequence: {
      RESPOOL_TRY(facts.sequence, decode<fb::SequenceRowT>(value, place(key.session, key.kind)));
      return ok();
    }
  }
  return Error(ErrorCode::Corruption,
               place(key.session, key.kind) + ": an unknown kind",
               "run \"respool rebuild\"");
}

std::string encode_fact(const SessionFacts& facts, FactKind kind, const std::string& identity) {
  switch (kind) {
    case FactKind::Message:
      return encode(*facts.messages.at(identity).row);
    case FactKind::Part: {
      const auto split = identity.find('\0');
      return encode(
          facts.messages.at(identity.substr(0, split)).parts.at(identity.substr(split + 1)));
    }
    case FactKind::Ask:
      return encode(facts.asks.at(identity));
    case FactKind::Command:
      return encode(facts.commands.at(identity));
    case FactKind::Error:
      return encode(facts.errors.at(identity));
    case FactKind::Prompt:
      return encode(facts.prompts.at(identity));
    case FactKind::Run:
      return encode(facts.runs.at(identity));
    case FactKind::Problem:
      return encode(facts.problems.at(identity));
    case FactKind::Binding:
      return encode(facts.bindings.at(identity));
    case FactKind::OutputFile:
      return encode(facts.output_files.at(identity));
    case FactKind::Replay:
      return encode(facts.replays.at(identity));
    case FactKind::Sequence:
      return encode(facts.sequence);
  }
  return {};
}

}  // namespace

Result<ModelSession> load_session(const ReadView& view,
                                  Family model,
                                  SessionNumber number,
                                  const StreamName& name) {
  ModelSession session;
  session.facts.number = number;
  session.facts.name = name;
  RESPOOL_TRY(const auto row, view.get(model, keys::session_row(number)));
  if (row) {
    RESPOOL_TRY(session.facts.session, decode<fb::SessionRowT>(*row, place(number, 's')));
  }
  RowCursor facts = view.scan_prefix(model, keys::facts_prefix(number));
  for (; facts.valid(); facts.next()) {
    const auto key = keys::parse_fact(facts.key());
    if (!key)
      return Error(ErrorCode::Corruption,
                   place(number, '?') + ": a key is too short",
                   "run \"respool rebuild\"");
    RESPOOL_TRY(load_fact(session.facts, *key, facts.value()));
  }
  RESPOOL_TRY(facts.finish());
  RowCursor steps = view.scan_prefix(model, keys::steps_prefix(number));
  for (; steps.valid(); steps.next()) {
    RESPOOL_TRY(auto step, decode<fb::StepRowT>(steps.value(), place(number, 'S')));
    const std::string message = step.message;
    session.steps.insert_or_assign(message, std::move(step));
  }
  RESPOOL_TRY(steps.finish());
  return session;
}

void stage_facts(SessionFacts& facts, Family model, WriteUnit& unit) {
  for (const auto& [kind, identity] : facts.dirty) {
    unit.put(model,
             keys::fact(facts.number, static_cast<char>(kind), identity),
             encode_fact(facts, kind, identity));
  }
  if (facts.session_dirty) unit.put(model, keys::session_row(facts.number), encode(facts.session));
  facts.dirty.clear();
  facts.dirty_messages.clear();
  facts.session_dirty = facts.all_steps = false;
}

std::size_t row_count(const ModelSession& session) {
  std::size_t rows = session.steps.size() + session.facts.messages.size() +
                     session.facts.problems.size() + session.facts.asks.size() +
                     session.facts.errors.size();
  for (const auto& [id, message] : session.facts.messages)
    rows += message.parts.size();
  return rows;
}

std::string rollup_dimensions(const fb::StepRowT& step) {
  std::string text = step.provider;
  for (const auto* part : {&step.model, &step.agent, &step.tools}) {
    text.push_back('\0');
    text += *part;
  }
  return text;
}

Dimensions parse_dimensions(std::string_view text) {
  Dimensions dimensions;
  for (auto* part :
       {&dimensions.provider, &dimensions.model, &dimensions.agent, &dimensions.tools}) {
    const auto end = std::min(text.find('\0'), text.size());
    *part = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return dimensions;
}

std::uint32_t bucket_of(std::int64_t time_ms) {
  return time_ms < 0
             ? 0
             : static_cast<std::uint32_t>(std::min<std::int64_t>(time_ms / kBucketMs, UINT32_MAX));
}

}  // namespace respool
