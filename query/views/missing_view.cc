#include "query/views/missing_view.h"

#include <algorithm>

#include <fmt/format.h>

#include "schema/opencode/id_time.h"
#include "schema/opencode/shape.h"

namespace respool {
namespace {

template <class Optional>
std::optional<std::int64_t> plain(const Optional& value) {
  return value ? std::optional<std::int64_t>(*value) : std::nullopt;
}

class Finder {
 public:
  Finder(const OpenCodeHoldings& holdings, const SessionContext& context)
      : holdings_(&holdings), context_(&context) {}

  // The project OpenCode lists for each directory: that of its newest session.
  void learn(const std::vector<SessionEntry>& all) {
    for (const auto& entry : all) {
      const auto& row = entry.row;
      if (row.directory.empty() || row.host != context_->host) continue;
      auto& newest = projects_[row.directory];
      const std::int64_t created = row.created_ms.value_or(0);
      if (created >= newest.first) newest = {created, row.project};
    }
  }

  std::optional<MissingLine> look(const SessionEntry& entry) const {
    const auto& row = entry.row;
    if (row.host != context_->host) return std::nullopt;
    const std::string database = database_of(row.id);
    if (database.empty()) return absent(row);
    MissingLine line{.session = row.id,
                     .kind = {},
                     .after_ms = plain(row.last_ms),
                     .before_ms = {},
                     .evidence = database,
                     .next = {}};
    if (row.archived_ms) {
      line.kind = "archived";
      line.before_ms = plain(row.archived_ms);
      line.next = fmt::format("opencode run -s {} still continues it", row.id);
      return line;
    }
    if (database != holdings_->main_database) {
      line.kind = "other_channel";
      line.next = fmt::format("OPENCODE_DB={} opencode", database);
      return line;
    }
    const auto project = projects_.find(row.directory);
    const bool other = project != projects_.end() && project->second.second != row.project;
    if (!other || !row.parent.empty()) return std::nullopt;
    line.kind = "not_listed";
    line.evidence = fmt::format(
        "its project is {}, the directory's is {} now", row.project, project->second.second);
    line.next = fmt::format("opencode -s {}", row.id);
    return line;
  }

 private:
  std::string database_of(const std::string& session) const {
    const auto& main = holdings_->databases.find(holdings_->main_database);
    if (main != holdings_->databases.end() && main->second.contains(session)) return main->first;
    for (const auto& [path, sessions] : holdings_->databases) {
      if (sessions.contains(session)) return path;
    }
    return {};
  }

  std::optional<MissingLine> absent(const fb::SessionRowT& row) const {
    MissingLine line{.session = row.id,
                     .kind = {},
                     .after_ms = plain(row.last_ms),
                     .before_ms = {},
                     .evidence = {},
                     .next = fmt::format("respool replay {}", row.id)};
    if (row.bound_ms) line.after_ms = plain(row.bound_ms);
    if (const auto file = holdings_->storage_tree.find(row.id);
        file != holdings_->storage_tree.end()) {
      line.kind = "not_migrated";
      line.evidence = file->second;
    } else if (is_removed(row)) {
      line.kind = "deleted";
      line.evidence = "OpenCode said that it was deleted";
      const auto id = IdTime{row.removed_at};
      line.before_ms = resolve_id_time(id, line.after_ms.value_or(0));
    } else {
      line.kind = "vanished";
      line.before_ms = plain(row.gone_ms);
      line.evidence =
          row.gone_ms ? "it was in the database once" : "it is in no database of this host";
    }
    return line;
  }

  const OpenCodeHoldings* holdings_;
  const SessionContext* context_;
  std::map<std::string, std::pair<std::int64_t, std::string>> projects_;
};

}  // namespace

Result<std::vector<MissingLine>> list_missing(const StoreReader& reader,
                                              const Filter& filter,
                                              const SessionContext& context,
                                              const OpenCodeHoldings& holdings) {
  Finder finder(holdings, context);
  RESPOOL_TRY(const auto all, reader.sessions());
  finder.learn(all);
  RESPOOL_TRY(const auto selected, select_sessions(reader, filter, context.here));
  std::vector<MissingLine> lines;
  std::set<std::string> known;
  for (const auto& entry : all)
    known.insert(entry.row.id);
  for (const auto& entry : selected) {
    if (auto line = finder.look(entry)) lines.push_back(std::move(*line));
  }
  // Of the old files, those that neither OpenCode nor the store has.
  for (const auto& [session, file] : holdings.storage_tree) {
    const bool in_database = std::ranges::any_of(holdings.databases, [&](const auto& database) {
      return database.second.contains(session);
    });
    if (in_database || known.contains(session) || !filter.session.empty()) continue;
    lines.push_back({.session = session,
                     .kind = "not_migrated",
                     .after_ms = {},
                     .before_ms = {},
                     .evidence = file,
                     .next = "respool ingest the storage folder"});
  }
  if (lines.size() > filter.limit) lines.resize(filter.limit);
  return lines;
}

}  // namespace respool
