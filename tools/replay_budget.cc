#include "tools/replay_budget.h"

#include <algorithm>

#include <fmt/format.h>

#include "ingest/opencode/model_limits.h"
#include "query/replay/prefix.h"

namespace respool {

std::string model_for(const Arguments& arguments,
                      const std::vector<std::string>& environment,
                      const SessionEntry& session) {
  if (arguments.has("model")) return arguments.value("model");
  if (!session.row.model.empty()) return session.row.provider + "/" + session.row.model;
  const auto& models = session.totals.models;
  return models.size() == 1 ? models.front() : default_model(environment);
}

Result<ReplayBudget> replay_budget(const Arguments& arguments,
                                   const std::vector<std::string>& environment,
                                   const SessionEntry& session) {
  if (arguments.has("budget")) {
    RESPOOL_TRY(const auto tokens, number_flag(arguments, "budget", 0));
    return ReplayBudget{tokens, "--budget"};
  }
  const std::string name = model_for(arguments, environment, session);
  const auto slash = name.find('/');
  const auto limits =
      slash == std::string::npos
          ? std::nullopt
          : model_limits(environment, name.substr(0, slash), name.substr(slash + 1));
  if (!limits) {
    return ReplayBudget{kDefaultBudgetTokens,
                        name.empty()
                            ? "the default: no model is known"
                            : fmt::format("the default: the window of {} is not known", name)};
  }
  const std::uint64_t room = limits->context - std::min(limits->context, limits->output);
  return ReplayBudget{std::min(room / 2, kMaxDefaultBudget),
                      fmt::format("half of the window of {}: {} less {} for its answer, at most {}",
                                  name,
                                  limits->context,
                                  limits->output,
                                  kMaxDefaultBudget)};
}

}  // namespace respool
