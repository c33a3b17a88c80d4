#include "query/store_reader.h"

#include <algorithm>
#include <charconv>
#include <set>

#include <fmt/format.h>

#include "engine/facts/fold.h"
#include "engine/model/model_rows.h"
#include "engine/storage/keys.h"

namespace respool {
namespace {

std::int64_t newest_time(const SessionEntry& entry) {
  return std::max(entry.row.updated_ms.value_or(0), entry.row.last_ms.value_or(0));
}

}  // namespace

std::string format_cursor(LogPosition position) {
  return fmt::format("c{}", position.value);
}

std::optional<LogPosition> parse_cursor(std::string_view text) {
  if (!text.starts_with('c') || text.size() < 2) return std::nullopt;
  LogPosition position;
  const auto [end, error] =
      std::from_chars(text.data() + 1, text.data() + text.size(), position.value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return position;
}

Result<Point> parse_point(std::string_view text,
                          bool before,
                          const Zone& zone,
                          std::int64_t now_ms) {
  Point point;
  if (const auto cursor = parse_cursor(text); cursor && !before) {
    point.until.position = cursor;
    return point;
  }
  if (before || text.starts_with("msg_")) {
    point.message = text;
    point.before = before;
    return point;
  }
  auto time = parse_when(text, zone, now_ms);
  if (!time) {
    return Error(ErrorCode::InvalidArgument,
                 fmt::format("\"{}\" is not a point in a session", text),
                 "give a cursor as `events` prints it, a message id, or a time");
  }
  point.until.time_ms = time.value();
  return point;
}

Result<std::vector<SessionEntry>> StoreReader::sessions() const {
  std::map<std::uint64_t, SessionEntry> entries;
  RowCursor rows = view_.scan_prefix(Family::Model, keys::table_prefix(keys::Table::Sessions));
  for (; rows.valid(); rows.next()) {
    const SessionNumber number = keys::session_of(rows.key()).value_or(SessionNumber{});
    RESPOOL_TRY(auto row, decode<fb::SessionRowT>(rows.value(), "model, sessions"));
    entries[number.value] = SessionEntry{number, std::move(row), {}};
  }
  RESPOOL_TRY(rows.finish());
  RowCursor totals = view_.scan_prefix(Family::Model, keys::table_prefix(keys::Table::Totals));
  for (; totals.valid(); totals.next()) {
    const SessionNumber number = keys::session_of(totals.key()).value_or(SessionNumber{});
    const auto entry = entries.find(number.value);
    if (entry == entries.end()) continue;
    RESPOOL_TRY(entry->second.totals, decode<fb::TotalsRowT>(totals.value(), "model, totals"));
  }
  RESPOOL_TRY(totals.finish());
  std::vector<SessionEntry> list;
  list.reserve(entries.size());
  for (auto& [number, entry] : entries) {
    if (!entry.totals.usage) entry.totals.usage = std::make_unique<fb::UsageRowT>();
    list.push_back(std::move(entry));
  }
  return list;
}

Result<SessionEntry> StoreReader::session(SessionNumber number) const {
  SessionEntry entry;
  entry.number = number;
  RESPOOL_TRY(const auto row, view_.get(Family::Model, keys::session_row(number)));
  if (!row)
    return Error(ErrorCode::NotFound, fmt::format("stream {} is not a session", number.value));
  RESPOOL_TRY(entry.row, decode<fb::SessionRowT>(*row, "model, sessions"));
  RESPOOL_TRY(const auto totals, view_.get(Family::Model, keys::totals_row(number)));
  if (totals) {
    RESPOOL_TRY(entry.totals, decode<fb::TotalsRowT>(*totals, "model, totals"));
  }
  if (!entry.totals.usage) entry.totals.usage = std::make_unique<fb::UsageRowT>();
  return entry;
}

Result<std::optional<SessionNumber>> StoreReader::number_of(const std::string& id) const {
  return find_stream(view_, StreamName{StreamKind::Session, id});
}

Result<SessionEntry> StoreReader::find(const std::string& text,
                                       const std::string& directory) const {
  if (text == "@last" || text == "@last:any") {
    RESPOOL_TRY(auto all, sessions());
    std::erase_if(all, [&](const SessionEntry& entry) {
      return !entry.row.parent.empty() || (text == "@last" && entry.row.directory != directory);
    });
    if (all.empty()) {
      return Error(ErrorCode::NotFound,
                   text == "@last" ? fmt::format("no session of {} is in the store", directory)
                                   : "the store has no session",
                   "respool sessions");
    }
    return *std::max_element(all.begin(), all.end(), [](const auto& a, const auto& b) {
      return std::tuple(newest_time(a), a.number) < std::tuple(newest_time(b), b.number);
    });
  }
  const std::string prefix = keys::stream_name(StreamName{StreamKind::Session, text});
  RowCursor rows = view_.scan_prefix(Family::Index, prefix);
  if (!rows.valid()) {
    RESPOOL_TRY(rows.finish());
    return Error(ErrorCode::NotFound,
                 fmt::format("no session starts with \"{}\"", text),
                 "respool sessions");
  }
  const std::string first(rows.key());
  const SessionNumber number{keys::decode_number(rows.value()).value_or(0)};
  rows.next();
  if (rows.valid() && first != prefix) {
    return Error(ErrorCode::Ambiguous,
                 fmt::format("more than one session starts with \"{}\"", text),
                 "give more of the id");
  }
  return session(number);
}

Result<SessionFacts> StoreReader::facts(SessionNumber number) const {
  RESPOOL_TRY(const auto name, stream_of(view_, number));
  RESPOOL_TRY(auto loaded, load_session(view_, Family::Model, number, name));
  return std::move(loaded.facts);
}

Result<SessionFacts> StoreReader::facts_at(SessionNumber number, const Point& point) const {
  if (point.until.position || point.until.time_ms || point.until.origin)
    return fold_session(view_, number, point.until);
  return facts(number);
}

Result<OriginNumber> StoreReader::find_origin(const std::string& text) const {
  std::optional<OriginNumber> found;
  RowCursor rows = view_.scan_prefix(Family::Index, keys::origin_number_prefix());
  for (; rows.valid(); rows.next()) {
    const OriginNumber number{keys::decode_number(rows.key().substr(1)).value_or(0)};
    RESPOOL_TRY(const auto host, origin_host(view_, number));
    if (!rows.value().starts_with(text) && host != text) continue;
    if (found)
      return Error(ErrorCode::Ambiguous,
                   fmt::format("more than one origin starts with \"{}\", or has that host", text),
                   "give more of the id");
    found = number;
  }
  RESPOOL_TRY(rows.finish());
  if (found) return *found;
  return Error(ErrorCode::NotFound,
               fmt::format("no origin starts with \"{}\", or has that host", text),
               "respool sessions --json lists them");
}

Result<std::vector<fb::StepRowT>> StoreReader::steps(SessionNumber number) const {
  std::vector<fb::StepRowT> steps;
  RowCursor rows = view_.scan_prefix(Family::Model, keys::steps_prefix(number));
  for (; rows.valid(); rows.next()) {
    RESPOOL_TRY(auto step, decode<fb::StepRowT>(rows.value(), "model, steps"));
    steps.push_back(std::move(step));
  }
  RESPOOL_TRY(rows.finish());
  return steps;
}

Result<std::vector<SessionNumber>> StoreReader::host_streams() const {
  std::vector<SessionNumber> numbers;
  RowCursor rows = view_.scan_prefix(Family::Index, keys::stream_name_prefix(StreamKind::Host));
  for (; rows.valid(); rows.next())
    numbers.push_back({keys::decode_number(rows.value()).value_or(0)});
  RESPOOL_TRY(rows.finish());
  return numbers;
}

Result<StoredEvent> StoreReader::event(SessionNumber number, const fb::EventRef& ref) const {
  return read_event(view_, number, {ref.origin()}, {ref.event()});
}

Result<Content> StoreReader::content(SessionNumber number, const fb::EventRef& ref) const {
  RESPOOL_TRY(const auto stored, event(number, ref));
  return decode_content(stored.raw, stored.shape());
}

Result<bool> StoreReader::model_is_stale() const {
  RESPOOL_TRY(const auto checkpoint, read_checkpoint(view_));
  RESPOOL_TRY(const auto last, last_position(view_));
  if (last.value == 0) return false;
  return checkpoint.fold_version != kFoldVersion || checkpoint.position != last.value;
}

std::map<std::string, const SessionEntry*> by_id(const std::vector<SessionEntry>& all) {
  std::map<std::string, const SessionEntry*> index;
  for (const auto& entry : all)
    index.emplace(entry.row.id, &entry);
  return index;
}

std::vector<const SessionEntry*> tree_of(const std::vector<SessionEntry>& all,
                                         const std::string& root) {
  std::multimap<std::string, const SessionEntry*> children;
  const SessionEntry* top = nullptr;
  for (const auto& entry : all) {
    if (entry.row.id == root) top = &entry;
    if (!entry.row.parent.empty()) children.emplace(entry.row.parent, &entry);
  }
  std::vector<const SessionEntry*> tree;
  if (top == nullptr) return tree;
  std::set<std::string> seen{root};
  tree.push_back(top);
  for (std::size_t at = 0; at < tree.size(); ++at) {
    const auto [first, last] = children.equal_range(tree[at]->row.id);
    for (auto child = first; child != last; ++child) {
      if (seen.insert(child->second->row.id).second) tree.push_back(child->second);
    }
  }
  return tree;
}

std::string root_of(const std::map<std::string, const SessionEntry*>& index,
                    const SessionEntry& entry) {
  std::set<std::string> seen;
  std::string id = entry.row.id;
  const SessionEntry* at = &entry;
  while (!at->row.parent.empty() && seen.insert(id).second) {
    id = at->row.parent;
    const auto parent = index.find(id);
    if (parent == index.end()) return id;
    at = parent->second;
  }
  return id;
}

}  // namespace respool
