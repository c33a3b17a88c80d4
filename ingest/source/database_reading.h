#pragma once

// Internal to this folder: how DatabaseSource goes through a database.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ingest/source/database_connection.h"
#include "ingest/source/database_source.h"

namespace respool {

// One reading of all tables: gives the visitor what changed since a mark, and makes the next mark.
//
// Threads: one at a time. Ownership: borrows connection and visitor.
class DatabaseReading {
 public:
  DatabaseReading(const DatabaseConnection& connection,
                  const DatabaseSource::Visitor& visit,
                  std::string_view since)
      : connection_(&connection), visit_(&visit), before_(decode_marks(since)) {}

  // Errors: the visitor's; what the connection says but for damage, which is a problem.
  Result<void> run();
  bool visitor_failed() const { return visitor_failed_; }
  std::string marks() const { return encode_marks(after_); }
  std::vector<DatabaseProblem> problems() const { return problems_; }

 private:
  using Table = DatabaseTable;

  Result<void> read_table(const Table& table, const TableMark* old, TableMark& mark);
  Result<void> read_new_rows(const Table& table, const TableMark* old, TableMark& mark);
  Result<void> read_changed_blocks(const Table& table, const TableMark& old, TableMark& mark);
  Result<void> take_digests(const Table& table, TableMark& mark);
  Result<void> read_rows(const Table& table, std::int64_t low, std::int64_t high, TableMark* mark);
  Result<void> walk(const Table& table,
                    std::int64_t low,
                    std::int64_t high,
                    bool up,
                    TableMark* mark);
  Result<void> deliver(const Table& table, const DatabaseStatement& row);
  std::uint64_t digest(const Table& table,
                       const DatabaseStatement& row,
                       std::optional<std::int64_t> data_bytes);
  // Damage in a table is listed; anything else ends the reading.
  Result<void> survive(const Table& table, const Error& error, std::string_view place);

  const DatabaseConnection* connection_;
  const DatabaseSource::Visitor* visit_;
  TableMarks before_;
  TableMarks after_;
  std::vector<DatabaseProblem> problems_;
  bool visitor_failed_ = false;
  std::optional<std::int64_t> reached_;  // the last rowid of the walk
  std::string raw_;
  std::string row_;
};

// Which rows of a table are meant.
struct IdFilter {
  enum class Kind : std::uint8_t { All, Session, Title };
  Kind kind = Kind::All;
  std::string_view text = {};  // the session's id, or what the title holds
};

// The ids in a table; none where it has no such columns. Sorted.
Result<std::vector<std::string>> read_ids(const DatabaseConnection& connection,
                                          std::string_view table,
                                          const IdFilter& filter);

}  // namespace respool
