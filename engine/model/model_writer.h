#pragma once

#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/model/copies.h"
#include "engine/model/model_rows.h"

namespace respool {

// Keeps one generation of the model: facts of the sessions being written in memory, and, staged
// with each batch, their rows, the steps they spent, and the totals as differences of steps.
//
// Threads:   one thread at a time.
// Ownership: borrows the store.
// Errors:    those of the store; after one the writer must be made anew.
class ModelWriter {
 public:
  // `unsettled`: sessions an earlier writer left waiting, from the checkpoint.
  ModelWriter(Store& store, Family model, const std::vector<std::uint64_t>& unsettled = {})
      : store_(&store), model_(model), unsettled_(unsettled.begin(), unsettled.end()) {}

  // The facts of a session, loaded where they are not in memory. Fold into them, then stage().
  Result<SessionFacts*> session(SessionNumber number, const StreamName& name);

  // Stages everything that changed since the last commit, and the checkpoint. Counting a session's
  // messages and gaps takes all of its facts, so between batches large sessions may wait for it;
  // with `settle` none does.
  Result<void> stage(LogPosition folded_up_to, bool settle, WriteUnit& unit);
  // Call after the unit was committed: bounds what stays in memory.
  void committed();

 private:
  struct Change {
    std::optional<fb::StepRowT> before;
    std::optional<fb::StepRowT> after;
  };
  struct Batch {
    std::map<StepId, Change> steps;
    std::map<CopyGroup, std::map<StepId, std::optional<fb::CopyMemberT>>> members;
    std::map<std::string, fb::UsageRowT> rollups;
    std::map<std::uint64_t, fb::UsageRowT> totals;
  };

  void collect_steps(ModelSession& session, Batch& batch);
  void move_member(const StepId& id,
                   const ModelSession& session,
                   const Change& change,
                   Batch& batch);
  Result<void> settle_copies(Batch& batch, WriteUnit& unit);
  Result<void> settle_group(const CopyGroup& group, const CopyMembers& members, Batch& batch);
  Result<Change*> change_of(const StepId& id, Batch& batch);
  void stage_steps(Batch& batch, WriteUnit& unit);
  Result<void> stage_rollups(const Batch& batch, WriteUnit& unit);
  Result<void> stage_totals(const Batch& batch, bool settle, WriteUnit& unit);
  Result<void> load_unsettled();
  bool may_wait(std::uint64_t number);
  void refresh_totals(const SessionFacts& facts, fb::TotalsRowT& totals) const;

  Store* store_;
  Family model_;
  std::unordered_map<std::uint64_t, ModelSession> sessions_;
  std::set<std::uint64_t> touched_;    // sessions folded into since the last commit
  std::set<std::uint64_t> unsettled_;  // sessions whose counts wait
  std::unordered_map<std::uint64_t, std::size_t> rows_when_settled_;
};

}  // namespace respool
