#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "schema/error.h"

namespace respool {

// What can be known and done about a database without reading it: which files are ones, whether
// they changed, how to get at them, and what an earlier reading saw.
//
// Nothing here opens a file of OpenCode's but to copy it: closing a descriptor would drop the locks
// that SQLite holds on the same file in this process.

// The databases in an OpenCode data folder (opencode.db, opencode-CHANNEL.db), sorted. A folder
// that is not there has none.
std::vector<std::filesystem::path> databases_in(const std::filesystem::path& folder);

// Tells the states of a database's files apart: equal signatures mean that nothing changed. Costs
// three stat() calls. While a file is younger than the clock of file times can tell, no two
// signatures are equal.
//
// Errors: NotFound; Io.
Result<std::string> database_signature(const std::filesystem::path& database);

// How to read a database and leave its folder as it is.
enum class DatabaseAccess : std::uint8_t {
  InPlace,    // beside its writer, if there is one: SQLite's locks keep it from what we read
  Immutable,  // nobody has it open: without locks, while its FileStamp stays the same
  Copy,       // a crash left what only a writer could repair: repair a copy
};
DatabaseAccess database_access(const std::filesystem::path& database);

// One file as stat() shows it; equal stamps, equal bytes, once the stamp is settled().
struct FileStamp {
  std::uint64_t inode = 0;
  std::uint64_t bytes = 0;
  std::int64_t written_ns = 0;
  bool exists = false;

  static FileStamp of(const std::filesystem::path& file);
  // Old enough that another write must change the stamp.
  bool settled() const;
  bool operator==(const FileStamp&) const = default;
};

// A copy of a database, its WAL and its journal in a folder of its own, gone with the object.
//
// Threads: one at a time. Errors: StoreBusy where the files change while they are copied; Io.
class DatabaseCopy {
 public:
  // `scratch` is made where it is not there.
  static Result<DatabaseCopy> make(const std::filesystem::path& database,
                                   const std::filesystem::path& scratch);
  DatabaseCopy(DatabaseCopy&& other) noexcept : folder_(std::move(other.folder_)) {
    other.folder_.clear();
  }
  DatabaseCopy& operator=(DatabaseCopy&&) = delete;
  ~DatabaseCopy();

  std::filesystem::path database() const { return folder_ / "copy.db"; }

 private:
  explicit DatabaseCopy(std::filesystem::path folder) : folder_(std::move(folder)) {}

  std::filesystem::path folder_;
};

// What a reading saw of one table: enough to find, next time, the rows that are new or not the
// same.
struct TableMark {
  std::uint64_t columns = 0;                      // a digest of their names
  std::int64_t last_rowid = 0;                    // table `event`: where its reading ended
  std::uint64_t last_row = 0;                     // and a digest of the row there
  std::map<std::int64_t, std::uint64_t> digests;  // other tables: of each block of rows
};
using TableMarks = std::map<std::string, TableMark, std::less<>>;

// Marks as bytes a caller can keep, and back. Bytes that are none give no marks: read everything.
std::string encode_marks(const TableMarks& marks);
TableMarks decode_marks(std::string_view bytes);

}  // namespace respool
