#include "query/views/session_view.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "engine/facts/step.h"
#include "engine/storage/keys.h"

namespace respool {
namespace {

std::string state_of(const fb::SessionRowT& row, const SessionContext& context) {
  const bool gone = row.gone_ms && *row.gone_ms >= row.bound_ms.value_or(0);
  if (gone || is_removed(row)) return "dead";
  // Where a session happened is only known where somebody said so.
  if (row.host.empty() || row.host != context.host || row.directory.empty()) return "unknown";
  std::error_code error;
  return std::filesystem::is_directory(row.directory, error) ? "alive" : "gone";
}

// Which session each fork copied from, by the steps that stand as copies.
Result<std::map<std::uint64_t, std::uint64_t>> fork_owners(const StoreReader& reader,
                                                           const std::vector<SessionEntry>& all) {
  std::map<std::uint64_t, std::uint64_t> owners;
  for (const auto& entry : all) {
    if (entry.totals.usage->copied_steps == 0) continue;
    RESPOOL_TRY(const auto steps, reader.steps(entry.number));
    std::map<std::uint64_t, std::size_t> votes;
    for (const auto& step : steps) {
      if (step.copied && step.owner != 0) ++votes[step.owner];
    }
    const auto most =
        std::max_element(votes.begin(), votes.end(), [](const auto& a, const auto& b) {
          return a.second < b.second;
        });
    if (most != votes.end()) owners[entry.number.value] = most->first;
  }
  return owners;
}

// Groups of sessions joined by parents and forks: each session's representative.
class Families {
 public:
  std::uint64_t find(std::uint64_t member) {
    std::uint64_t root = member;
    for (auto at = parent_.find(root); at != parent_.end() && at->second != root;
         at = parent_.find(root))
      root = at->second;
    // The way there is shortened for the next time.
    while (member != root)
      member = std::exchange(parent_[member], root);
    return root;
  }
  void join(std::uint64_t a, std::uint64_t b) { parent_[find(a)] = find(b); }

 private:
  std::map<std::uint64_t, std::uint64_t> parent_;
};

class SessionList {
 public:
  SessionList(const StoreReader& reader, const SessionContext& context)
      : reader_(&reader), context_(&context) {}

  Result<void> load() {
    RESPOOL_TRY(all_, reader_->sessions());
    index_ = by_id(all_);
    for (const auto& entry : all_)
      numbers_.emplace(entry.number.value, &entry);
    RESPOOL_TRY(owners_, fork_owners(*reader_, all_));
    for (const auto& entry : all_) {
      for (const auto* related : {&entry.row.parent, &entry.row.continues}) {
        const auto other = index_.find(*related);
        if (other != index_.end()) families_.join(entry.number.value, other->second->number.value);
      }
    }
    for (const auto& [fork, owner] : owners_)
      families_.join(fork, owner);
    sum_trees();
    for (const auto& entry : all_)
      family_cost_[families_.find(entry.number.value)] += entry.totals.usage->cost_nanos;
    return load_heads();
  }

  SessionLine line(const SessionEntry& entry) {
    SessionLine line;
    line.entry = entry;
    line.state = state_of(entry.row, *context_);
    line.events = events_[entry.number.value];
    line.tree = trees_[entry.row.id];
    line.family_cost_nanos = family_cost_[families_.find(entry.number.value)];
    if (const auto owner = owners_.find(entry.number.value); owner != owners_.end()) {
      line.forked_from = numbers_.at(owner->second)->row.id;
    }
    if (entry.row.continues_as == "fork") line.forked_from = entry.row.continues;
    if (entry.row.continues_as == "resume") line.resumed_from = entry.row.continues;
    line.complete = entry.totals.own_gaps == 0 &&
                    std::all_of(entry.totals.children.begin(),
                                entry.totals.children.end(),
                                [&](const auto& child) { return index_.contains(child); });
    return line;
  }

 private:
  // Sums each session with all below it, from the leaves up. Sessions in a cycle stay as they are.
  void sum_trees() {
    std::map<std::string, std::size_t> waiting;  // children not summed yet
    for (const auto& entry : all_) {
      trees_[entry.row.id] = *entry.totals.usage;
      if (index_.contains(entry.row.parent)) ++waiting[entry.row.parent];
    }
    std::vector<const SessionEntry*> ready;
    for (const auto& entry : all_) {
      if (!waiting.contains(entry.row.id)) ready.push_back(&entry);
    }
    while (!ready.empty()) {
      const SessionEntry* entry = ready.back();
      ready.pop_back();
      const auto parent = index_.find(entry->row.parent);
      if (parent == index_.end()) continue;
      add_usage(trees_[parent->first], trees_[entry->row.id]);
      if (--waiting[parent->first] == 0) ready.push_back(parent->second);
    }
  }

  Result<void> load_heads() {
    RowCursor heads = reader_->view().scan_prefix(Family::Index, keys::head_prefix());
    for (; heads.valid(); heads.next()) {
      const auto key = keys::parse_head(heads.key());
      if (!key) continue;
      RESPOOL_TRY(const auto head, decode<fb::StreamHeadT>(heads.value(), "the heads"));
      events_[key->session.value] += head.events;
    }
    return heads.finish();
  }

  const StoreReader* reader_;
  const SessionContext* context_;
  std::vector<SessionEntry> all_;
  std::map<std::string, const SessionEntry*> index_;
  std::map<std::uint64_t, const SessionEntry*> numbers_;
  std::map<std::uint64_t, std::uint64_t> owners_;
  std::map<std::uint64_t, std::uint64_t> events_;
  std::map<std::string, fb::UsageRowT> trees_;
  std::map<std::uint64_t, std::int64_t> family_cost_;
  Families families_;
};

template <class Optional>
std::optional<std::int64_t> plain(const Optional& value) {
  return value ? std::optional<std::int64_t>(*value) : std::nullopt;
}

std::int64_t newest(const SessionEntry& entry) {
  return std::max(entry.row.updated_ms.value_or(0), entry.row.last_ms.value_or(0));
}

bool within(const Filter& filter, const SessionEntry& entry) {
  if (!filter.since_ms && !filter.until_ms) return true;
  const auto begin = entry.row.created_ms ? *entry.row.created_ms : entry.row.first_ms.value_or(0);
  return (!filter.since_ms || newest(entry) >= *filter.since_ms) &&
         (!filter.until_ms || begin < *filter.until_ms);
}

bool any_model_matches(const Filter& filter, const SessionEntry& entry) {
  if (filter.model.empty()) return true;
  return std::any_of(
      entry.totals.models.begin(), entry.totals.models.end(), [&](const std::string& name) {
        const auto slash = name.find('/');
        return model_matches(filter,
                             name.substr(0, slash),
                             slash == std::string::npos ? "" : name.substr(slash + 1));
      });
}

bool any_agent_matches(const Filter& filter, const SessionEntry& entry) {
  const auto& agents = entry.totals.agents;
  return agent_matches(filter, entry.row.agent) ||
         std::find(agents.begin(), agents.end(), filter.agent) != agents.end();
}

}  // namespace

Result<std::vector<SessionLine>> list_sessions(const StoreReader& reader,
                                               const Filter& filter,
                                               const SessionContext& context) {
  SessionList list(reader, context);
  RESPOOL_TRY(list.load());
  RESPOOL_TRY(auto selected, select_sessions(reader, filter, context.here));
  std::erase_if(selected, [&](const SessionEntry& entry) {
    return !within(filter, entry) || !any_model_matches(filter, entry) ||
           !any_agent_matches(filter, entry);
  });
  std::stable_sort(selected.begin(), selected.end(), [](const auto& a, const auto& b) {
    return newest(a) > newest(b);
  });
  if (selected.size() > filter.limit) selected.resize(filter.limit);
  std::vector<SessionLine> lines;
  lines.reserve(selected.size());
  for (const auto& entry : selected) {
    lines.push_back(list.line(entry));
    for (const auto origin : entry.row.origins) {
      RESPOOL_TRY(auto id, origin_id(reader.view(), {origin}));
      lines.back().origins.push_back(std::move(id));
    }
    // Numbers are local to a store, ids are not.
    std::ranges::sort(lines.back().origins);
  }
  return lines;
}

Result<std::vector<LineageEdge>> list_lineage(const StoreReader& reader,
                                              const Filter& filter,
                                              const std::string& here) {
  RESPOOL_TRY(const auto all, reader.sessions());
  RESPOOL_TRY(const auto owners, fork_owners(reader, all));
  std::map<std::uint64_t, std::string> ids;
  for (const auto& entry : all)
    ids[entry.number.value] = entry.row.id;
  std::vector<LineageEdge> edges;
  std::set<std::pair<std::string, std::string>> children;
  const auto add_child =
      [&](const std::string& from, const std::string& to, std::optional<std::int64_t> at) {
        if (children.emplace(from, to).second) edges.push_back({from, to, "child", at, "certain"});
      };
  for (const auto& entry : all) {
    std::optional<std::int64_t> created;
    if (entry.row.created_ms) created = *entry.row.created_ms;
    if (!entry.row.parent.empty()) add_child(entry.row.parent, entry.row.id, created);
    const auto& continues = entry.row.continues;
    if (!continues.empty()) {
      edges.push_back({continues,
                       entry.row.id,
                       entry.row.continues_as,
                       plain(entry.row.continues_ms),
                       "certain"});
    }
    const auto owner = owners.find(entry.number.value);
    if (owner != owners.end() && ids.at(owner->second) != continues)
      edges.push_back({ids.at(owner->second), entry.row.id, "fork", created, "inferred"});
  }
  for (const auto& entry : all) {
    for (const auto& child : entry.totals.children)
      add_child(entry.row.id, child, std::nullopt);
  }
  RESPOOL_TRY(const auto selected, select_sessions(reader, filter, here));
  std::set<std::string> wanted;
  for (const auto& entry : selected)
    wanted.insert(entry.row.id);
  std::erase_if(edges, [&](const LineageEdge& edge) {
    return !wanted.contains(edge.from) && !wanted.contains(edge.to);
  });
  if (edges.size() > filter.limit) edges.resize(filter.limit);
  return edges;
}

}  // namespace respool
