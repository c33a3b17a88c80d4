#pragma once

// Internal to this folder: SQLite without its header. database_source.cc makes it.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schema/error.h"

#include "ingest/source/database_snapshot.h"
#include "ingest/source/database_table.h"

namespace respool {

class DatabaseConnection;

enum class ValueType : std::uint8_t { Integer = 1, Real = 2, Text = 3, Bytes = 4, Null = 5 };

// A prepared statement. Texts and bytes it gives live until its next step.
//
// Threads: one at a time. Ownership: borrows the connection.
class DatabaseStatement {
 public:
  static Result<DatabaseStatement> prepare(const DatabaseConnection& connection,
                                           const std::string& sql);
  DatabaseStatement(DatabaseStatement&&) noexcept;
  DatabaseStatement& operator=(DatabaseStatement&&) = delete;
  ~DatabaseStatement();

  void bind(int at, std::int64_t number);
  void bind(int at, std::string_view text);
  // False at the end.
  Result<bool> step();

  // Columns count from 0. Each is asked for by its own type: another converts it in place.
  ValueType type(int at) const;
  std::int64_t number(int at) const;
  double real(int at) const;
  std::string_view bytes(int at) const;
  bool is_bytes(int at) const {
    return type(at) == ValueType::Text || type(at) == ValueType::Bytes;
  }

 private:
  struct Made;

  explicit DatabaseStatement(std::unique_ptr<Made> made);

  std::unique_ptr<Made> made_;
};

// The size of column `data` in one row after the other, found without reading the column.
//
// Threads: one at a time. Ownership: borrows the connection.
class DataSizes {
 public:
  DataSizes(const DatabaseConnection& connection, std::string table);
  ~DataSizes();
  DataSizes(const DataSizes&) = delete;
  DataSizes& operator=(const DataSizes&) = delete;

  // -1 where SQLite cannot tell, which is the size of no row.
  std::int64_t of(std::int64_t rowid);

 private:
  struct Open;

  std::unique_ptr<Open> open_;
};

// A connection inside the read transaction that gives it its one moment.
//
// Threads: one at a time. Errors: those of DatabaseSource.
class DatabaseConnection {
 public:
  static Result<std::unique_ptr<DatabaseConnection>> open(const std::filesystem::path& database,
                                                          DatabaseAccess access,
                                                          const std::filesystem::path& scratch);
  ~DatabaseConnection();
  DatabaseConnection(const DatabaseConnection&) = delete;
  DatabaseConnection& operator=(const DatabaseConnection&) = delete;

  // True where what was read without locks may be torn.
  bool spoiled() const { return frozen_ && FileStamp::of(database_) != *frozen_; }
  // The tables we read, by name.
  const std::vector<DatabaseTable>& tables() const { return tables_; }
  const DatabaseTable* table(std::string_view name) const;

 private:
  friend class DatabaseStatement;
  friend class DataSizes;
  struct Handle;

  explicit DatabaseConnection(const std::filesystem::path& database);
  Error error() const;
  Result<void> connect(const std::string& uri, int flags, const char* files);
  Result<void> find_tables();
  void find_rowid(DatabaseTable& table) const;

  std::filesystem::path database_;
  std::optional<DatabaseCopy> copy_;
  std::optional<FileStamp> frozen_;
  std::unique_ptr<Handle> handle_;
  std::vector<DatabaseTable> tables_;
};

// Why a reading without locks is void.
Error changed_while_read();

}  // namespace respool
