#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "query/store_reader.h"

#include "tools/context.h"

namespace respool {

// How many tokens a replay may have, and where that number comes from, in words.
struct ReplayBudget {
  std::uint64_t tokens = 0;
  std::string from;
};

// --budget; else half of what the window of the model leaves beside its answer, because the system
// prompt, the tools and the new turn need room too, and OpenCode compacts away what does not fit;
// at most kMaxDefaultBudget. The model is that of --model, else the session's own. Where its window
// is not known: kDefaultBudgetTokens.
// The model that will read it, "provider/model": that of --model, the session's own, or the one
// that OpenCode uses where nobody names one. "" where none is known.
std::string model_for(const Arguments& arguments,
                      const std::vector<std::string>& environment,
                      const SessionEntry& session);

inline constexpr std::uint64_t kMaxDefaultBudget = 128'000;
Result<ReplayBudget> replay_budget(const Arguments& arguments,
                                   const std::vector<std::string>& environment,
                                   const SessionEntry& session);

}  // namespace respool
