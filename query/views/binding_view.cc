#include "query/views/binding_view.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace respool {
namespace {

std::int64_t seen(const fb::BindingRowT& row) {
  return std::max(row.seen_ms.value_or(0), row.dead_ms.value_or(0));
}

std::string state_of(const fb::BindingRowT& row,
                     const fb::SessionRowT& session,
                     const SessionContext& context) {
  const bool dead = row.dead_ms && *row.dead_ms >= row.seen_ms.value_or(0);
  if (dead || is_removed(session)) return "dead";
  if (row.host.empty() || row.host != context.host || row.directory.empty()) return "unknown";
  // OpenCode says the session lives elsewhere now, and said so later.
  const bool moved = !session.directory.empty() && session.directory != row.directory &&
                     session.host == row.host &&
                     session.host_at_ms.value_or(0) > row.seen_ms.value_or(0);
  std::error_code error;
  if (moved && !std::filesystem::equivalent(session.directory, row.directory, error))
    return "moved";
  return std::filesystem::is_directory(row.directory, error) ? "alive" : "gone";
}

// What the sources themselves say, where no note of ours does.
std::optional<fb::BindingRowT> implied(const fb::SessionRowT& session) {
  if (session.host.empty() || session.directory.empty()) return std::nullopt;
  fb::BindingRowT row;
  row.host = session.host;
  row.directory = session.directory;
  row.project = session.project;
  row.opencode_version = session.opencode_version;
  row.seen_ms = session.last_ms;
  return row;
}

}  // namespace

Result<std::vector<BindingLine>> list_bindings(const StoreReader& reader,
                                               const Filter& filter,
                                               const SessionContext& context) {
  RESPOOL_TRY(const auto selected, select_sessions(reader, filter, context.here));
  std::vector<BindingLine> lines;
  for (const auto& entry : selected) {
    RESPOOL_TRY(const auto facts, reader.facts(entry.number));
    bool on_its_host = false;
    for (const auto& [identity, row] : facts.bindings) {
      on_its_host |= row.host == entry.row.host;
      lines.push_back({entry.row.id, row, state_of(row, entry.row, context)});
      auto& line = lines.back().row;
      if (line.project.empty()) line.project = entry.row.project;
      if (line.opencode_version.empty()) line.opencode_version = entry.row.opencode_version;
    }
    if (const auto row = implied(entry.row); row && !on_its_host)
      lines.push_back({entry.row.id, *row, state_of(*row, entry.row, context)});
  }
  std::stable_sort(lines.begin(), lines.end(), [](const BindingLine& a, const BindingLine& b) {
    return seen(a.row) > seen(b.row);
  });
  if (lines.size() > filter.limit) lines.resize(filter.limit);
  return lines;
}

std::optional<BindingLine> newest_of_key(const std::vector<BindingLine>& bindings,
                                         const std::string& key,
                                         const std::string& host,
                                         const std::string& directory) {
  const BindingLine* newest = nullptr;
  for (const auto& line : bindings) {
    if (line.row.key != key || line.row.host != host || line.row.directory != directory) continue;
    const bool later = newest == nullptr || line.row.key_ms > newest->row.key_ms;
    if (later) newest = &line;
  }
  if (newest == nullptr || newest->state == "dead") return std::nullopt;
  return *newest;
}

}  // namespace respool
