#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace respool {

// A table of an OpenCode database: what we read of it, and how.
struct DatabaseTable {
  std::string name;
  std::vector<std::string> columns;
  std::string rowid;  // what SQL calls it; "" where the table has none

  // Its place, -1 where there is none.
  int column(std::string_view wanted) const;
  // True where its rows are elements of POST /sync/history.
  bool is_event_log() const;
  // True where rows are only added, so that what was read need not be read again.
  bool only_grows() const { return name == "event" && column("seq") >= 0 && !rowid.empty(); }
  // The column with the id of a row's session; the table need not have it.
  std::string_view session_column() const;
  // The list of a SELECT: the rowid, if there is one, and the columns. `sizes`: of column `data`
  // only the type.
  std::string selected(bool sizes) const;
};

// True for tables that hold credentials, and for SQLite's and the migrations' own: never read.
bool is_refused_table(std::string_view name);
// True for columns that hold credentials, whatever their table is called.
bool is_secret_column(std::string_view name);

// A name as SQL's identifier.
std::string quoted_name(std::string_view name);

// A file's name as SQLite's URI, options such as "?mode=ro" appended.
std::string database_uri(const std::string& file, std::string_view options);

// Append a column's value as JSON. Texts that are JSON objects or arrays stand as they are, unless
// people write into that column; bytes that are no text become {"base64":..}.
void append_text_value(std::string& out, std::string_view column, std::string_view text);
void append_bytes_value(std::string& out, std::string_view bytes);
void append_real_value(std::string& out, double number);

}  // namespace respool
