#include "ingest/source/database_source.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include <unistd.h>

#include <fmt/format.h>
#include <sqlite3.h>

#include "schema/opencode/json_text.h"

#include "ingest/source/database_connection.h"
#include "ingest/source/database_reading.h"

namespace respool {
namespace {

namespace fs = std::filesystem;

constexpr int kBusyMs = 5000;        // how long SQLite waits for a writer
constexpr int kOpenAttempts = 6;     // the last of them by copying
constexpr int kInPlaceAttempts = 4;  // a writer that comes or goes is in the way for a moment only
constexpr int kReadAttempts = 5;     // readings without locks that a writer may spoil
constexpr std::chrono::milliseconds kFirstPause{20};
constexpr std::chrono::milliseconds kSettlePause{120};

Error from_sqlite(int code, std::string_view text, const fs::path& database) {
  const std::string message = fmt::format("{}: SQLite: {}", database.string(), text);
  switch (code & 0xFF) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return Error(ErrorCode::StoreBusy, message, "wait until OpenCode is done, then try again");
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_FORMAT:
    case SQLITE_TOOBIG:
    case SQLITE_ERROR:  // our own statements are right: the schema is not
    case SQLITE_SCHEMA:
      return Error(ErrorCode::Corruption, message);
    case SQLITE_IOERR:
      if (code == SQLITE_IOERR_CORRUPTFS || code == SQLITE_IOERR_SHORT_READ)
        return Error(ErrorCode::Corruption, message);
      return Error(ErrorCode::Io, message);
    default:
      return Error(ErrorCode::Io, message);
  }
}

// As root, SQLite gives the files it opens to the database's owner: even that touches them.
int leave_owner(int, uid_t, gid_t) {
  return 0;
}

// SQLite's own way to files, but one that writes, makes and deletes nothing. It is needed although
// connections are read-only: SQLite makes the WAL of a database that has none before it finds out
// that it cannot use it, and deletes that of an empty one.
sqlite3_vfs* system_files() {
  static sqlite3_vfs* const found = [] {
    sqlite3_vfs* const system = sqlite3_vfs_find("unix");
    system->xSetSystemCall(system, "fchown", reinterpret_cast<sqlite3_syscall_ptr>(&leave_owner));
    return system;
  }();
  return found;
}

int open_read_only(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* opened) {
  if (name != nullptr && (flags & SQLITE_OPEN_DELETEONCLOSE) == 0) {
    flags &= ~(SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_EXCLUSIVE);
    flags |= SQLITE_OPEN_READONLY;
  }
  return system_files()->xOpen(system_files(), name, file, flags, opened);
}

int refuse_to_delete(sqlite3_vfs*, const char*, int) {
  return SQLITE_READONLY;
}

const char* read_only_files() {
  static sqlite3_vfs files = *system_files();
  static const int registered = [] {
    files.zName = "respool-read-only";
    files.xOpen = open_read_only;
    files.xDelete = refuse_to_delete;
    return sqlite3_vfs_register(&files, 0);
  }();
  return registered == SQLITE_OK ? files.zName : "respool-unavailable";
}

}  // namespace

Error changed_while_read() {
  return Error(ErrorCode::StoreBusy,
               "the database changed while it was read",
               "wait until OpenCode is done, then try again");
}

struct DatabaseConnection::Handle {
  struct Close {
    void operator()(sqlite3* open) const { sqlite3_close(open); }
  };

  std::unique_ptr<sqlite3, Close> open;
};

struct DatabaseStatement::Made {
  struct Finalize {
    void operator()(sqlite3_stmt* made) const { sqlite3_finalize(made); }
  };

  const DatabaseConnection* connection;
  std::unique_ptr<sqlite3_stmt, Finalize> made;
};

struct DataSizes::Open {
  struct Close {
    void operator()(sqlite3_blob* open) const { sqlite3_blob_close(open); }
  };

  sqlite3* handle;
  std::string table;
  std::unique_ptr<sqlite3_blob, Close> open;
};

DatabaseStatement::DatabaseStatement(std::unique_ptr<Made> made) : made_(std::move(made)) {}
DatabaseStatement::DatabaseStatement(DatabaseStatement&&) noexcept = default;
DatabaseStatement::~DatabaseStatement() = default;

Result<DatabaseStatement> DatabaseStatement::prepare(const DatabaseConnection& connection,
                                                     const std::string& sql) {
  sqlite3_stmt* made = nullptr;
  const auto bytes = static_cast<int>(sql.size());
  const int code =
      sqlite3_prepare_v2(connection.handle_->open.get(), sql.data(), bytes, &made, nullptr);
  auto owned = std::make_unique<Made>();
  owned->connection = &connection;
  owned->made.reset(made);
  if (code != SQLITE_OK) return connection.error();
  return DatabaseStatement(std::move(owned));
}

void DatabaseStatement::bind(int at, std::int64_t number) {
  sqlite3_bind_int64(made_->made.get(), at, number);
}

void DatabaseStatement::bind(int at, std::string_view text) {
  sqlite3_bind_text64(
      made_->made.get(), at, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
}

Result<bool> DatabaseStatement::step() {
  const int code = sqlite3_step(made_->made.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return made_->connection->error();
}

ValueType DatabaseStatement::type(int at) const {
  static_assert(SQLITE_INTEGER == 1 && SQLITE_FLOAT == 2 && SQLITE_TEXT == 3 && SQLITE_BLOB == 4 &&
                SQLITE_NULL == 5);
  return static_cast<ValueType>(sqlite3_column_type(made_->made.get(), at));
}

std::int64_t DatabaseStatement::number(int at) const {
  return sqlite3_column_int64(made_->made.get(), at);
}

double DatabaseStatement::real(int at) const {
  return sqlite3_column_double(made_->made.get(), at);
}

std::string_view DatabaseStatement::bytes(int at) const {
  sqlite3_stmt* const row = made_->made.get();
  const void* const found = type(at) == ValueType::Bytes
                                ? sqlite3_column_blob(row, at)
                                : static_cast<const void*>(sqlite3_column_text(row, at));
  if (found == nullptr) return {};
  return {static_cast<const char*>(found), static_cast<std::size_t>(sqlite3_column_bytes(row, at))};
}

DataSizes::DataSizes(const DatabaseConnection& connection, std::string table)
    : open_(new Open{connection.handle_->open.get(), std::move(table), nullptr}) {}
DataSizes::~DataSizes() = default;

std::int64_t DataSizes::of(std::int64_t rowid) {
  if (open_->open && sqlite3_blob_reopen(open_->open.get(), rowid) == SQLITE_OK)
    return sqlite3_blob_bytes(open_->open.get());
  open_->open.reset();
  sqlite3_blob* opened = nullptr;
  const int code =
      sqlite3_blob_open(open_->handle, "main", open_->table.c_str(), "data", rowid, 0, &opened);
  open_->open.reset(opened);
  return code == SQLITE_OK ? sqlite3_blob_bytes(opened) : -1;
}

DatabaseConnection::DatabaseConnection(const fs::path& database)
    : database_(database), handle_(std::make_unique<Handle>()) {}
DatabaseConnection::~DatabaseConnection() = default;

Error DatabaseConnection::error() const {
  sqlite3* const handle = handle_->open.get();
  return from_sqlite(sqlite3_extended_errcode(handle), sqlite3_errmsg(handle), database_);
}

const DatabaseTable* DatabaseConnection::table(std::string_view name) const {
  const auto at = std::find_if(tables_.begin(), tables_.end(), [&](const DatabaseTable& table) {
    return table.name == name;
  });
  return at == tables_.end() ? nullptr : &*at;
}

Result<std::unique_ptr<DatabaseConnection>> DatabaseConnection::open(const fs::path& database,
                                                                     DatabaseAccess access,
                                                                     const fs::path& scratch) {
  auto opened = std::unique_ptr<DatabaseConnection>(new DatabaseConnection(database));
  if (access == DatabaseAccess::Copy) {
    RESPOOL_TRY(auto copy, DatabaseCopy::make(database, scratch));
    opened->copy_.emplace(std::move(copy));
    const std::string uri = database_uri(opened->copy_->database().string(), "");
    RESPOOL_TRY(opened->connect(uri, SQLITE_OPEN_READWRITE, "unix"));
  } else {
    const bool immutable = access == DatabaseAccess::Immutable;
    if (immutable) {
      opened->frozen_ = FileStamp::of(database);
      if (!opened->frozen_->settled()) {
        std::this_thread::sleep_for(kSettlePause);
        opened->frozen_ = FileStamp::of(database);
      }
    }
    const std::string uri = database_uri(
        database.string(), immutable ? "?mode=ro&immutable=1" : "?mode=ro&readonly_shm=1");
    RESPOOL_TRY(opened->connect(uri, SQLITE_OPEN_READONLY, read_only_files()));
  }
  return opened;
}

Result<void> DatabaseConnection::connect(const std::string& uri, int flags, const char* files) {
  sqlite3* made = nullptr;
  flags |= SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX;
  const int code = sqlite3_open_v2(uri.c_str(), &made, flags, files);
  handle_->open.reset(made);
  if (code != SQLITE_OK) return from_sqlite(code, sqlite3_errstr(code), database_);
  sqlite3_extended_result_codes(made, 1);
  sqlite3_busy_timeout(made, kBusyMs);
  sqlite3_db_config(made, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(made, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  sqlite3_db_config(made, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(made, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  sqlite3_limit(made, SQLITE_LIMIT_ATTACHED, 0);
  const char* const setup =
      "PRAGMA query_only=1; PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON;"
      "PRAGMA temp_store=MEMORY; BEGIN; SELECT count(*) FROM sqlite_master";
  if (sqlite3_exec(made, setup, nullptr, nullptr, nullptr) != SQLITE_OK) return error();
  return find_tables();
}

Result<void> DatabaseConnection::find_tables() {
  RESPOOL_TRY(
      auto names,
      DatabaseStatement::prepare(
          *this,
          "SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0 ORDER BY name"));
  while (true) {
    RESPOOL_TRY(const bool more, names.step());
    if (!more) return ok();
    DatabaseTable table;
    table.name = names.bytes(0);
    if (is_refused_table(table.name)) continue;
    RESPOOL_TRY(auto columns,
                DatabaseStatement::prepare(
                    *this, fmt::format("PRAGMA main.table_info({})", quoted_name(table.name))));
    while (true) {
      RESPOOL_TRY(const bool another, columns.step());
      if (!another) break;
      table.columns.emplace_back(columns.bytes(1));
    }
    if (std::any_of(table.columns.begin(), table.columns.end(), is_secret_column)) continue;
    find_rowid(table);
    if (!table.columns.empty()) tables_.push_back(std::move(table));
  }
}

// The first of SQL's names for it that no column hides; none where the table has no rowid.
void DatabaseConnection::find_rowid(DatabaseTable& table) const {
  for (const char* const name : {"rowid", "_rowid_", "oid"}) {
    const bool hidden =
        std::any_of(table.columns.begin(), table.columns.end(), [&](const std::string& column) {
          return sqlite3_stricmp(column.c_str(), name) == 0;
        });
    if (hidden) continue;
    const std::string sql = fmt::format("SELECT {} FROM main.{}", name, quoted_name(table.name));
    if (DatabaseStatement::prepare(*this, sql)) table.rowid = name;
    return;
  }
}

DatabaseSource::DatabaseSource(fs::path database, fs::path scratch)
    : database_(std::move(database)), scratch_(std::move(scratch)) {}

DatabaseSource::~DatabaseSource() = default;

Result<std::unique_ptr<DatabaseSource>> DatabaseSource::open(const fs::path& database,
                                                             const fs::path& scratch) {
  std::error_code error;
  const fs::path real = fs::canonical(database, error);
  // Where it cannot be found, connect() says so.
  std::unique_ptr<DatabaseSource> source(new DatabaseSource(error ? database : real, scratch));
  RESPOOL_TRY(source->connect());
  return source;
}

// A writer that comes or goes meanwhile makes the way in wrong that was right: look again.
Result<void> DatabaseSource::connect() {
  auto pause = kFirstPause;
  for (int attempt = 1;; ++attempt, pause *= 2) {
    RESPOOL_TRY(auto signature, database_signature(database_));
    const auto access =
        attempt > kInPlaceAttempts ? DatabaseAccess::Copy : database_access(database_);
    auto opened = DatabaseConnection::open(database_, access, scratch_);
    if (opened) {
      signature_ = std::move(signature);
      access_ = access;
      connection_ = std::move(opened.value());
      return ok();
    }
    const ErrorCode code = opened.error().code();
    const bool waited = code == ErrorCode::StoreBusy && access == DatabaseAccess::InPlace;
    const auto now = database_signature(database_);
    const bool damaged = code == ErrorCode::Corruption && now && now.value() == signature;
    if (attempt == kOpenAttempts || waited || damaged) return opened.error();
    std::this_thread::sleep_for(pause);
  }
}

DatabaseSchema DatabaseSource::schema() const {
  const auto has = [&](std::string_view name) { return connection_->table(name) != nullptr; };
  if (has("session_v2")) return DatabaseSchema::Newer;
  if (has("session") && has("message") && has("part")) return DatabaseSchema::OpenCode1;
  if (has("sessions") && has("messages")) return DatabaseSchema::Older;
  return DatabaseSchema::Unknown;
}

std::string DatabaseSource::schema_detail() const {
  std::string detail = connection_->tables().empty() ? "no tables" : "tables";
  for (const auto& table : connection_->tables())
    detail += " " + json_string(table.name);
  return detail;
}

Result<void> DatabaseSource::each_row(const DatabaseMark& since, const Visitor& visit) {
  for (int attempt = 1; attempt <= kReadAttempts; ++attempt) {
    if (attempt > 1) {
      RESPOOL_TRY(connect());
    }
    DatabaseReading reading(*connection_, visit, since.tables);
    auto read = reading.run();
    if (connection_->spoiled() && !reading.visitor_failed()) continue;
    RESPOOL_TRY(std::move(read));
    mark_ = {signature_, reading.marks()};
    problems_ = reading.problems();
    return ok();
  }
  return changed_while_read();
}

Result<std::vector<std::string>> DatabaseSource::ids(std::string_view table,
                                                     const IdFilter& filter) {
  for (int attempt = 1; attempt <= kReadAttempts; ++attempt) {
    if (attempt > 1) {
      RESPOOL_TRY(connect());
    }
    auto found = read_ids(*connection_, table, filter);
    if (!connection_->spoiled()) return found;
  }
  return changed_while_read();
}

Result<std::vector<std::string>> DatabaseSource::session_ids() {
  std::vector<std::string> all;
  for (const std::string_view table : {"session", "sessions", "session_v2"}) {
    RESPOOL_TRY(auto some, ids(table, {}));
    all.insert(all.end(), some.begin(), some.end());
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

Result<std::vector<std::string>> DatabaseSource::sessions_titled(std::string_view part) {
  return ids("session", {IdFilter::Kind::Title, part});
}

Result<SessionRows> DatabaseSource::session_rows(std::string_view session) {
  SessionRows rows;
  RESPOOL_TRY(rows.messages, ids("message", {IdFilter::Kind::Session, session}));
  RESPOOL_TRY(rows.parts, ids("part", {IdFilter::Kind::Session, session}));
  return rows;
}

}  // namespace respool
