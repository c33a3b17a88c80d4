#include "engine/model/model_writer.h"

#include <algorithm>

#include <fmt/format.h>

#include "engine/facts/fold.h"
#include "engine/facts/session_gaps.h"
#include "engine/facts/step.h"
#include "engine/log/event_log.h"
#include "engine/storage/keys.h"

namespace respool {
namespace {

// Rows kept in memory between batches; above it the sessions not written last are let go.
constexpr std::size_t kMaxCachedRows = 200'000;

// Equal but for what only the group can tell.
bool same_step(const std::optional<fb::StepRowT>& a, const std::optional<fb::StepRowT>& b) {
  if (!a || !b) return !a && !b;
  fb::StepRowT left = *a;
  left.copied = b->copied;
  left.owner = b->owner;
  return left == *b;
}

void add_to(std::map<std::string, fb::UsageRowT>& rollups,
            std::uint64_t session,
            const fb::StepRowT& step,
            std::int64_t sign) {
  const std::string key = keys::rollup(bucket_of(step.time_ms), {session}, rollup_dimensions(step));
  add_usage(rollups[key], contribution(step), sign);
}

}  // namespace

Result<SessionFacts*> ModelWriter::session(SessionNumber number, const StreamName& name) {
  touched_.insert(number.value);
  const auto known = sessions_.find(number.value);
  if (known != sessions_.end()) return &known->second.facts;
  RESPOOL_TRY(auto loaded, load_session(store_->view(), model_, number, name));
  return &sessions_.emplace(number.value, std::move(loaded)).first->second.facts;
}

Result<void> ModelWriter::stage(LogPosition folded_up_to, bool settle, WriteUnit& unit) {
  if (settle) {
    RESPOOL_TRY(load_unsettled());
  }
  Batch batch;
  for (const auto number : touched_)
    collect_steps(sessions_.at(number), batch);
  RESPOOL_TRY(settle_copies(batch, unit));
  stage_steps(batch, unit);
  RESPOOL_TRY(stage_rollups(batch, unit));
  RESPOOL_TRY(stage_totals(batch, settle, unit));
  for (const auto number : touched_)
    stage_facts(sessions_.at(number).facts, model_, unit);
  fb::CheckpointT checkpoint;
  checkpoint.position = folded_up_to.value;
  checkpoint.fold_version = kFoldVersion;
  checkpoint.unsettled.assign(unsettled_.begin(), unsettled_.end());
  unit.put(model_, keys::checkpoint(), encode(checkpoint));
  return ok();
}

// Finds the steps of a session that differ from what was stored.
void ModelWriter::collect_steps(ModelSession& session, Batch& batch) {
  auto& facts = session.facts;
  const auto collect = [&](const std::string& id, const MessageFacts& message) {
    auto after = step_of(facts, id, message);
    const auto stored = session.steps.find(id);
    std::optional<fb::StepRowT> before;
    if (stored != session.steps.end()) before = stored->second;
    if (!facts.all_steps && same_step(before, after)) return;
    if (!before && !after) return;
    if (before && after && !after->own_copy && group_of(*before) == group_of(*after)) {
      after->copied = before->copied;
      after->owner = before->owner;
    }
    const StepId step_id{facts.number.value, id};
    const auto& change = batch.steps[step_id] = Change{std::move(before), std::move(after)};
    move_member(step_id, session, change, batch);
  };
  if (facts.all_steps) {
    for (const auto& [id, message] : facts.messages)
      collect(id, message);
  } else {
    for (const auto& id : facts.dirty_messages)
      collect(id, facts.messages.at(id));
  }
}

void ModelWriter::move_member(const StepId& id,
                              const ModelSession& session,
                              const Change& change,
                              Batch& batch) {
  const auto before = change.before ? group_of(*change.before) : std::nullopt;
  const auto after = change.after ? group_of(*change.after) : std::nullopt;
  if (before && before != after) batch.members[*before][id] = std::nullopt;
  if (!after) return;
  fb::CopyMemberT member;
  member.session = session.facts.session.id;
  member.session_created_ms = session.facts.session.created_ms.value_or(0);
  member.older_than_session = change.after->older_than_session;
  batch.members[*after][id] = std::move(member);
}

// Decides, for each group that changed, whose spending it is, and stages the members' rows.
Result<void> ModelWriter::settle_copies(Batch& batch, WriteUnit& unit) {
  const ReadView view = store_->view();
  for (const auto& [group, moved] : batch.members) {
    RESPOOL_TRY(auto members, load_members(view, model_, group));
    for (const auto& [id, member] : moved) {
      const std::string key = keys::copy_member(group.first, group.second, {id.first}, id.second);
      if (member) {
        members[id] = *member;
        unit.put(model_, key, encode(*member));
      } else {
        members.erase(id);
        unit.erase(model_, key);
      }
    }
    RESPOOL_TRY(settle_group(group, members, batch));
  }
  return ok();
}

Result<void> ModelWriter::settle_group(const CopyGroup& group,
                                       const CopyMembers& members,
                                       Batch& batch) {
  const std::uint64_t owner = owner_of(members);
  for (const auto& [id, member] : members) {
    const bool copied = is_copy(id, member, owner);
    RESPOOL_TRY(Change* const change, change_of(id, batch));
    auto& step = change->after;
    if (!step || group_of(*step) != group) continue;
    step->copied = copied;
    step->owner = copied ? owner : 0;
  }
  return ok();
}

// The change of a step, which may be one that only a group's new owner brings about.
Result<ModelWriter::Change*> ModelWriter::change_of(const StepId& id, Batch& batch) {
  const auto known = batch.steps.find(id);
  if (known != batch.steps.end()) return &known->second;
  std::optional<fb::StepRowT> stored;
  if (const auto session = sessions_.find(id.first); session != sessions_.end()) {
    const auto step = session->second.steps.find(id.second);
    if (step != session->second.steps.end()) stored = step->second;
  } else {
    RESPOOL_TRY(const auto row, store_->view().get(model_, keys::step({id.first}, id.second)));
    if (row) {
      RESPOOL_TRY(stored, decode<fb::StepRowT>(*row, fmt::format("model, step {}", id.second)));
    }
  }
  return &batch.steps.emplace(id, Change{stored, stored}).first->second;
}

// Stages the changed steps and gathers what they add to and take from totals.
void ModelWriter::stage_steps(Batch& batch, WriteUnit& unit) {
  for (auto& [id, change] : batch.steps) {
    if (change.before == change.after) continue;
    auto& totals = batch.totals[id.first];
    if (change.before) {
      add_to(batch.rollups, id.first, *change.before, -1);
      add_usage(totals, contribution(*change.before), -1);
    }
    if (change.after) {
      add_to(batch.rollups, id.first, *change.after, 1);
      add_usage(totals, contribution(*change.after), 1);
      unit.put(model_, keys::step({id.first}, id.second), encode(*change.after));
    } else {
      unit.erase(model_, keys::step({id.first}, id.second));
    }
    const auto session = sessions_.find(id.first);
    if (session == sessions_.end()) continue;
    if (change.after) {
      session->second.steps[id.second] = *change.after;
    } else {
      session->second.steps.erase(id.second);
    }
  }
}

Result<void> ModelWriter::stage_rollups(const Batch& batch, WriteUnit& unit) {
  const ReadView view = store_->view();
  for (const auto& [key, difference] : batch.rollups) {
    if (is_zero(difference)) continue;
    RESPOOL_TRY(const auto row, view.get(model_, key));
    fb::UsageRowT sum;
    if (row) {
      RESPOOL_TRY(sum, decode<fb::UsageRowT>(*row, "model, rollups"));
    }
    add_usage(sum, difference);
    if (is_zero(sum)) {
      unit.erase(model_, key);
    } else {
      unit.put(model_, key, encode(sum));
    }
  }
  return ok();
}

// Sessions that wait are brought into memory, as if they had been written to.
Result<void> ModelWriter::load_unsettled() {
  for (const auto number : unsettled_) {
    RESPOOL_TRY(const auto name, stream_of(store_->view(), {number}));
    RESPOOL_TRY(SessionFacts* const facts, session({number}, name));
    facts->session_dirty = true;
  }
  return ok();
}

// A large session is counted again once it has grown by a quarter, so that all counting together
// stays proportional to its size.
bool ModelWriter::may_wait(std::uint64_t number) {
  constexpr std::size_t kAlwaysCounted = 4096;
  const std::size_t rows = row_count(sessions_.at(number));
  auto& settled = rows_when_settled_[number];
  if (rows > kAlwaysCounted && rows < settled + settled / 4) return true;
  settled = rows;
  return false;
}

Result<void> ModelWriter::stage_totals(const Batch& batch, bool settle, WriteUnit& unit) {
  const ReadView view = store_->view();
  std::set<std::uint64_t> numbers;
  for (const auto number : touched_) {
    const auto& facts = sessions_.at(number).facts;
    if (facts.name.kind == StreamKind::Session && facts.touched()) numbers.insert(number);
  }
  for (const auto& [number, difference] : batch.totals)
    numbers.insert(number);
  for (const auto number : numbers) {
    RESPOOL_TRY(const auto row, view.get(model_, keys::totals_row({number})));
    fb::TotalsRowT totals;
    if (row) {
      RESPOOL_TRY(totals,
                  decode<fb::TotalsRowT>(*row, fmt::format("model, totals of stream {}", number)));
    }
    if (!totals.usage) totals.usage = std::make_unique<fb::UsageRowT>();
    if (const auto difference = batch.totals.find(number); difference != batch.totals.end()) {
      add_usage(*totals.usage, difference->second);
    }
    if (touched_.contains(number)) {
      if (!settle && may_wait(number)) {
        unsettled_.insert(number);
      } else {
        refresh_totals(sessions_.at(number).facts, totals);
        unsettled_.erase(number);
      }
    }
    unit.put(model_, keys::totals_row({number}), encode(totals));
  }
  return ok();
}

void ModelWriter::refresh_totals(const SessionFacts& facts, fb::TotalsRowT& totals) const {
  std::set<std::string> models;
  std::set<std::string> agents;
  totals.messages = totals.tool_calls = 0;
  for (const auto& [id, message] : facts.messages) {
    bool live = message.row && is_live(*message.row);
    if (live && !agent_of(*message.row).empty()) agents.insert(agent_of(*message.row));
    if (live && message.row->role == "assistant" && !message.row->model.empty()) {
      models.insert(message.row->provider + "/" + message.row->model);
    }
    for (const auto& [part_id, part] : message.parts) {
      live |= is_live(part);
      if (is_live(part) && part.type == fb::PartType::Tool) ++totals.tool_calls;
    }
    if (live) ++totals.messages;
  }
  totals.models.assign(models.begin(), models.end());
  totals.agents.assign(agents.begin(), agents.end());
  totals.context_tokens = context_tokens(facts);
  totals.own_gaps = static_cast<std::int64_t>(session_gaps(facts).size());
  totals.children = named_children(facts);
}

void ModelWriter::committed() {
  std::size_t rows = 0;
  for (const auto& [number, session] : sessions_)
    rows += row_count(session);
  if (rows > kMaxCachedRows) {
    std::erase_if(sessions_, [&](const auto& entry) { return !touched_.contains(entry.first); });
  }
  touched_.clear();
}

}  // namespace respool
