#include "ingest/source/database_reading.h"

#include <limits>
#include <utility>

#include <fmt/format.h>

#include "schema/digest.h"
#include "schema/opencode/json_text.h"

namespace respool {
namespace {

constexpr int kBlockBits = 7;  // rows are compared in blocks of 128 rowids
constexpr std::int64_t kFirstRowid = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kLastRowid = std::numeric_limits<std::int64_t>::max();

void append_value(std::string& out, const DatabaseStatement& row, std::string_view column, int at) {
  switch (row.type(at)) {
    case ValueType::Integer:
      out += std::to_string(row.number(at));
      return;
    case ValueType::Real:
      return append_real_value(out, row.real(at));
    case ValueType::Text:
      return append_text_value(out, column, row.bytes(at));
    case ValueType::Bytes:
      return append_bytes_value(out, row.bytes(at));
    case ValueType::Null:
      out += "null";
  }
}

// As SQL's typeof() says it.
std::string_view type_name(ValueType type) {
  switch (type) {
    case ValueType::Integer:
      return "integer";
    case ValueType::Real:
      return "real";
    case ValueType::Text:
      return "text";
    case ValueType::Bytes:
      return "blob";
    case ValueType::Null:
      return "null";
  }
  return "";
}

}  // namespace

Result<void> DatabaseReading::run() {
  for (const Table& table : connection_->tables()) {
    TableMark mark;
    mark.columns = content_hash(table.selected(false));
    const auto old = before_.find(table.name);
    const bool usable = old != before_.end() && old->second.columns == mark.columns;
    const std::size_t problems = problems_.size();
    const auto read = read_table(table, usable ? &old->second : nullptr, mark);
    if (!read) {
      RESPOOL_TRY(survive(table, read.error(), ""));
    }
    if (problems_.size() == problems) after_[table.name] = std::move(mark);
  }
  return ok();
}

Result<void> DatabaseReading::survive(const Table& table,
                                      const Error& error,
                                      std::string_view place) {
  const bool damage = error.code() == ErrorCode::Corruption;
  if (!damage || visitor_failed_ || connection_->spoiled()) return error;
  problems_.push_back(
      {table.name, fmt::format("table {}: {}{}", json_string(table.name), place, error.message())});
  return ok();
}

Result<void> DatabaseReading::read_table(const Table& table,
                                         const TableMark* old,
                                         TableMark& mark) {
  if (table.rowid.empty()) return walk(table, kFirstRowid, kLastRowid, true, nullptr);
  if (table.only_grows()) return read_new_rows(table, old, mark);
  if (old != nullptr) {
    const auto digests = take_digests(table, mark);
    if (digests) return read_changed_blocks(table, *old, mark);
    mark.digests.clear();  // damaged: read_rows() lists it and reads what can be read
  }
  return read_rows(table, kFirstRowid, kLastRowid, &mark);
}

// Rowids of deleted rows at the end are given again, and VACUUM renumbers: only where the last row
// is still the one it was, those before it are too.
Result<void> DatabaseReading::read_new_rows(const Table& table,
                                            const TableMark* old,
                                            TableMark& mark) {
  if (old == nullptr || old->last_row == 0) return read_rows(table, kFirstRowid, kLastRowid, &mark);
  RESPOOL_TRY(auto last,
              DatabaseStatement::prepare(*connection_,
                                         fmt::format("SELECT {} FROM main.{} WHERE {} = ?1",
                                                     table.selected(false),
                                                     quoted_name(table.name),
                                                     table.rowid)));
  last.bind(1, old->last_rowid);
  RESPOOL_TRY(const bool found, last.step());
  if (!found || digest(table, last, std::nullopt) != old->last_row)
    return read_rows(table, kFirstRowid, kLastRowid, &mark);
  mark.last_rowid = old->last_rowid;
  mark.last_row = old->last_row;
  if (old->last_rowid == kLastRowid) return ok();
  return read_rows(table, old->last_rowid + 1, kLastRowid, &mark);
}

Result<void> DatabaseReading::read_changed_blocks(const Table& table,
                                                  const TableMark& old,
                                                  TableMark& mark) {
  for (const auto& [block, digest] : mark.digests) {
    const auto before = old.digests.find(block);
    if (before != old.digests.end() && before->second == digest) continue;
    const auto low = static_cast<std::int64_t>(static_cast<std::uint64_t>(block) << kBlockBits);
    RESPOOL_TRY(read_rows(table, low, low + ((std::int64_t{1} << kBlockBits) - 1), nullptr));
  }
  return ok();
}

Result<void> DatabaseReading::take_digests(const Table& table, TableMark& mark) {
  RESPOOL_TRY(auto row,
              DatabaseStatement::prepare(*connection_,
                                         fmt::format("SELECT {} FROM main.{} ORDER BY {}",
                                                     table.selected(true),
                                                     quoted_name(table.name),
                                                     table.rowid)));
  const int data = table.column("data");
  DataSizes sizes(*connection_, table.name);
  std::optional<std::int64_t> last;
  while (true) {
    RESPOOL_TRY(const bool more, row.step());
    if (!more) return ok();
    const std::int64_t rowid = row.number(0);
    if (last && rowid <= *last) return Error(ErrorCode::Corruption, "rows out of order");
    last = rowid;
    const bool sized =
        data >= 0 && (row.bytes(data + 1) == "text" || row.bytes(data + 1) == "blob");
    mark.digests[rowid >> kBlockBits] += digest(table, row, sized ? sizes.of(rowid) : 0);
  }
}

// All but the content of column `data`: of it, type and size. `data_bytes` comes with a row that
// has only the type.
std::uint64_t DatabaseReading::digest(const Table& table,
                                      const DatabaseStatement& row,
                                      std::optional<std::int64_t> data_bytes) {
  row_.clear();
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const int at = static_cast<int>(i) + 1;
    const ValueType type = row.type(at);
    if (table.columns[i] == "data" && data_bytes) {
      row_ += fmt::format("{}:{}:", row.bytes(at), *data_bytes);
    } else if (table.columns[i] == "data") {
      row_ += fmt::format("{}:{}:", type_name(type), row.is_bytes(at) ? row.bytes(at).size() : 0);
    } else if (row.is_bytes(at)) {
      row_ += fmt::format("{}:{}:{}:", type_name(type), row.bytes(at).size(), row.bytes(at));
    } else if (type == ValueType::Real) {
      row_ += fmt::format("{}:{}:", type_name(type), row.real(at));
    } else {
      row_ += fmt::format("{}:{}:", type_name(type), row.number(at));
    }
  }
  return content_hash(row_, static_cast<std::uint64_t>(row.number(0)));
}

// Upwards; where a page is damaged, downwards from the end to the damage.
Result<void> DatabaseReading::read_rows(const Table& table,
                                        std::int64_t low,
                                        std::int64_t high,
                                        TableMark* mark) {
  const auto up = walk(table, low, high, true, mark);
  if (up) return ok();
  const std::string below = reached_ ? fmt::format("after rowid {}", *reached_) : "at its start";
  RESPOOL_TRY(survive(table, up.error(), below + ": "));
  if (reached_ && *reached_ == kLastRowid) return ok();
  const auto down = walk(table, reached_ ? *reached_ + 1 : low, high, false, mark);
  if (down) return ok();
  const std::string above = reached_ ? fmt::format("before rowid {}", *reached_) : "at its end";
  return survive(table, down.error(), above + ": ");
}

Result<void> DatabaseReading::walk(const Table& table,
                                   std::int64_t low,
                                   std::int64_t high,
                                   bool up,
                                   TableMark* mark) {
  reached_.reset();
  std::string sql =
      fmt::format("SELECT {} FROM main.{}", table.selected(false), quoted_name(table.name));
  if (!table.rowid.empty()) {
    sql += fmt::format(
        " WHERE {0} BETWEEN ?1 AND ?2 ORDER BY {0} {1}", table.rowid, up ? "ASC" : "DESC");
  }
  RESPOOL_TRY(auto row, DatabaseStatement::prepare(*connection_, sql));
  row.bind(1, low);
  row.bind(2, high);
  while (true) {
    RESPOOL_TRY(const bool more, row.step());
    if (!more) return ok();
    if (!table.rowid.empty()) {
      const std::int64_t rowid = row.number(0);
      if (reached_ && (up ? rowid <= *reached_ : rowid >= *reached_))
        return Error(ErrorCode::Corruption, "rows out of order");
      reached_ = rowid;
    }
    RESPOOL_TRY(deliver(table, row));
    if (mark == nullptr) continue;
    const std::uint64_t sum = digest(table, row, std::nullopt);
    mark->last_rowid = *reached_;
    mark->last_row = sum;
    if (!table.only_grows()) mark->digests[*reached_ >> kBlockBits] += sum;
  }
}

Result<void> DatabaseReading::deliver(const Table& table, const DatabaseStatement& row) {
  const int first = table.rowid.empty() ? 0 : 1;
  raw_ = "{";
  if (!table.is_event_log()) raw_ += "\"table\":" + json_string(table.name) + ",";
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (i > 0) raw_ += ',';
    append_json_string(raw_, table.columns[i]);
    raw_ += ':';
    append_value(raw_, row, table.columns[i], static_cast<int>(i) + first);
  }
  raw_ += '}';
  DatabaseRow found{table.name, raw_, {}, 0};
  const int session = table.column(table.session_column());
  if (session >= 0 && row.type(session + first) == ValueType::Text)
    found.session = row.bytes(session + first);
  const int updated = table.column("time_updated");
  if (updated >= 0 && row.type(updated + first) == ValueType::Integer)
    found.time_updated_ms = row.number(updated + first);
  if (connection_->spoiled()) return changed_while_read();
  const auto visited = (*visit_)(found);
  visitor_failed_ = !visited;
  return visited;
}

Result<std::vector<std::string>> read_ids(const DatabaseConnection& connection,
                                          std::string_view table_name,
                                          const IdFilter& filter) {
  std::vector<std::string> found;
  const DatabaseTable* const table = connection.table(table_name);
  if (table == nullptr || table->column("id") < 0) return found;
  std::string_view condition;
  if (filter.kind == IdFilter::Kind::Session) {
    if (table->column("session_id") < 0) return found;
    condition = "WHERE session_id = ?1 ";
  } else if (filter.kind == IdFilter::Kind::Title) {
    if (table->column("title") < 0) return found;
    condition = "WHERE instr(title, ?1) > 0 ";
  }
  const std::string sql =
      fmt::format("SELECT id FROM main.{} {}ORDER BY id", quoted_name(table->name), condition);
  RESPOOL_TRY(auto row, DatabaseStatement::prepare(connection, sql));
  if (filter.kind != IdFilter::Kind::All) row.bind(1, filter.text);
  while (true) {
    RESPOOL_TRY(const bool more, row.step());
    if (!more) return found;
    if (row.type(0) == ValueType::Text) found.emplace_back(row.bytes(0));
  }
}

}  // namespace respool
