#pragma once

#include "engine/facts/fold.h"

// Internal to the fold: what respool's own notes in recordings say (runs, bindings, losses), and
// the files that long outputs were saved to.
namespace respool::fold_detail {

void fold_run(SessionFacts& facts, const EventContext& event, const Record& record);
void fold_stderr(SessionFacts& facts, const EventContext& event, const Record& record);
void fold_lost(SessionFacts& facts, const EventContext& event, const Record& record);
void fold_binding(SessionFacts& facts, const EventContext& event, const Record& record);
void fold_replay(SessionFacts& facts, const EventContext& event, const Record& record);
void fold_output_file(SessionFacts& facts, const EventContext& event);

}  // namespace respool::fold_detail
