#include "query/views/filter.h"

namespace respool {

bool session_matches(const Filter& filter, const fb::SessionRowT& row) {
  return (filter.host.empty() || row.host == filter.host) &&
         (filter.directory.empty() || row.directory == filter.directory) &&
         (filter.project.empty() || row.project == filter.project);
}

bool model_matches(const Filter& filter, const std::string& provider, const std::string& model) {
  return filter.model.empty() || filter.model == model || filter.model == provider ||
         filter.model == provider + "/" + model;
}

bool agent_matches(const Filter& filter, const std::string& agent) {
  return filter.agent.empty() || filter.agent == agent;
}

Result<std::vector<SessionEntry>> select_sessions(const StoreReader& reader,
                                                  const Filter& filter,
                                                  const std::string& here) {
  std::vector<SessionEntry> selected;
  if (filter.session.empty()) {
    RESPOOL_TRY(selected, reader.sessions());
  } else {
    RESPOOL_TRY(auto one, reader.find(filter.session, here));
    if (filter.tree) {
      RESPOOL_TRY(const auto all, reader.sessions());
      for (const auto* entry : tree_of(all, one.row.id))
        selected.push_back(*entry);
    } else {
      selected.push_back(std::move(one));
    }
  }
  std::erase_if(selected,
                [&](const SessionEntry& entry) { return !session_matches(filter, entry.row); });
  return selected;
}

}  // namespace respool
