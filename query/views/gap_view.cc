#include "query/views/gap_view.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "engine/storage/keys.h"

namespace respool {
namespace {

std::string fill_for(GapKind kind, const std::string& session, const std::string& where) {
  switch (kind) {
    case GapKind::PromptNotInSource:
    case GapKind::ModelNotInSource:
    case GapKind::UnfinishedTurn:
    case GapKind::OrphanedTool:
    case GapKind::Truncated:
    case GapKind::SequenceGap:
      return session.empty() ? "" : fmt::format("opencode export {} | respool ingest -", session);
    case GapKind::ChildNotCaptured:
    case GapKind::OriginUnknown:
      return where.empty() ? "" : fmt::format("opencode export {} | respool ingest -", where);
    case GapKind::UnknownType:
    case GapKind::UnknownVariant:
    case GapKind::ForeignSchema:
      return "upgrade respool, then: respool rebuild";
    default:
      return "";
  }
}

// "recording 3 byte 120" becomes "FILE byte 120".
Result<void> name_recording(const ReadView& view, Gap& gap) {
  constexpr std::string_view kMark = "recording ";
  if (!gap.where.starts_with(kMark)) return ok();
  std::uint32_t number = 0;
  const char* begin = gap.where.data() + kMark.size();
  const auto [end, error] = std::from_chars(begin, gap.where.data() + gap.where.size(), number);
  if (error != std::errc{}) return ok();
  RESPOOL_TRY(const auto row, view.get(Family::Index, keys::recording(number)));
  if (!row) return ok();
  RESPOOL_TRY(const auto recording, decode<fb::RecordingT>(*row, "a recording"));
  gap.where = recording.name + gap.where.substr(static_cast<std::size_t>(end - gap.where.data()));
  return ok();
}

// What shows only beside other sessions: children nobody captured, forks of an origin nobody has.
Result<std::vector<Gap>> relative_gaps(const StoreReader& reader, const SessionEntry& entry) {
  std::vector<Gap> gaps;
  for (const auto& child : entry.totals.children) {
    RESPOOL_TRY(const auto known, reader.number_of(child));
    if (!known)
      gaps.push_back({GapKind::ChildNotCaptured,
                      child,
                      "a task call names this session; nothing of it is here"});
  }
  RESPOOL_TRY(const auto steps, reader.steps(entry.number));
  const bool orphaned_copies = std::any_of(steps.begin(), steps.end(), [](const auto& step) {
    return step.older_than_session && !step.copied;
  });
  if (orphaned_copies) {
    gaps.push_back({GapKind::OriginUnknown,
                    "",
                    "steps older than the session: a fork or import whose origin is not here"});
  }
  return gaps;
}

Result<void> add_gaps(const StoreReader& reader,
                      const std::string& session,
                      std::vector<Gap> gaps,
                      const Filter& filter,
                      std::vector<GapLine>& lines) {
  for (auto& gap : gaps) {
    if (lines.size() >= filter.limit) return ok();
    RESPOOL_TRY(name_recording(reader.view(), gap));
    std::string fill = fill_for(gap.kind, session, gap.where);
    lines.push_back({session, std::move(gap), std::move(fill)});
  }
  return ok();
}

}  // namespace

Result<std::vector<GapLine>> list_gaps(const StoreReader& reader,
                                       const Filter& filter,
                                       const std::string& here) {
  std::vector<GapLine> lines;
  RESPOOL_TRY(const auto selected, select_sessions(reader, filter, here));
  for (const auto& entry : selected) {
    RESPOOL_TRY(const auto facts, reader.facts(entry.number));
    RESPOOL_TRY(add_gaps(reader, entry.row.id, session_gaps(facts), filter, lines));
    RESPOOL_TRY(auto relative, relative_gaps(reader, entry));
    RESPOOL_TRY(add_gaps(reader, entry.row.id, std::move(relative), filter, lines));
  }
  if (!filter.session.empty()) return lines;
  RESPOOL_TRY(const auto hosts, reader.host_streams());
  for (const auto number : hosts) {
    RESPOOL_TRY(const auto facts, reader.facts(number));
    RESPOOL_TRY(add_gaps(reader, "", session_gaps(facts), filter, lines));
  }
  return lines;
}

}  // namespace respool
