#include "engine/storage/store.h"

#include <fstream>
#include <optional>
#include <utility>

#include <unistd.h>

#include <fmt/format.h>
#include <rocksdb/db.h>
#include <rocksdb/file_checksum.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/table.h>

#include "engine/storage/keys.h"
#include "engine/storage/owner_file.h"
#include "engine/storage/seal.h"
#include "engine/storage/status.h"
#include "schema/assert.h"
#include "schema/digest.h"

namespace respool {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLogFamily = "log";
constexpr const char* kIndexFamily = "index";
constexpr std::uint32_t kFirstGeneration = 1;

std::string model_family(std::uint32_t generation) { return fmt::format("model@{}", generation); }

// RocksDB's own log would only say what the errors say already.
class NullLogger : public rocksdb::Logger {
 public:
  using rocksdb::Logger::Logv;
  void Logv(const char*, va_list) override {}
};

rocksdb::DBOptions database_options() {
  rocksdb::DBOptions options;
  options.create_if_missing = true;
  options.create_missing_column_families = true;
  options.atomic_flush = true;
  options.max_open_files = -1;
  options.max_background_jobs = 2;
  options.wal_recovery_mode = rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
  options.file_checksum_gen_factory = rocksdb::GetFileChecksumGenCrc32cFactory();
  options.info_log = std::make_shared<NullLogger>();
  options.max_total_wal_size = 256ULL << 20;
  return options;
}

rocksdb::ColumnFamilyOptions family_options(const std::string& name) {
  rocksdb::ColumnFamilyOptions options;
  rocksdb::BlockBasedTableOptions table;
  table.checksum = rocksdb::kXXH3;
  table.format_version = 5;
  options.write_buffer_size = 16ULL << 20;
  if (name == kLogFamily) {
    // Events repeat each other over long distances: large blocks make zstd see it.
    table.block_size = 128ULL << 10;
    options.compression = rocksdb::kZSTD;
    options.compression_opts.level = 1;
    options.write_buffer_size = 32ULL << 20;
  } else {
    table.block_size = 16ULL << 10;
    table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
    options.compression = rocksdb::kLZ4Compression;
  }
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return options;
}

rocksdb::Slice slice(std::string_view text) { return {text.data(), text.size()}; }

std::string_view text(rocksdb::Slice slice) { return {slice.data(), slice.size()}; }

std::string_view family_name(Family family) {
  switch (family) {
    case Family::Log: return "log";
    case Family::Index: return "index";
    case Family::Model: return "model";
    case Family::NextModel: return "next model";
  }
  return "?";
}

}  // namespace

struct Store::Database {
  std::unique_ptr<rocksdb::DB> db;
  std::vector<rocksdb::ColumnFamilyHandle*> owned;
  rocksdb::ColumnFamilyHandle* family[4] = {};

  ~Database() {
    for (auto* handle : owned) {
      if (handle != nullptr) db->DestroyColumnFamilyHandle(handle).PermitUncheckedError();
    }
  }

  rocksdb::ColumnFamilyHandle* of(Family which) const {
    auto* handle = family[static_cast<std::size_t>(which)];
    RESPOOL_ASSERT(handle != nullptr);
    return handle;
  }

  rocksdb::ColumnFamilyHandle* named(const std::string& name) const {
    for (auto* handle : owned) {
      if (handle != nullptr && handle->GetName() == name) return handle;
    }
    return nullptr;
  }

  void forget(rocksdb::ColumnFamilyHandle* gone) {
    for (auto*& handle : owned) {
      if (handle != gone) continue;
      db->DestroyColumnFamilyHandle(handle).PermitUncheckedError();
      handle = nullptr;
    }
  }
};

// ---------------------------------------------------------------- WriteUnit

WriteUnit::WriteUnit(Store& store) : store_(store), batch_(std::make_unique<rocksdb::WriteBatch>()) {}
WriteUnit::~WriteUnit() = default;

void WriteUnit::put(Family family, std::string_view key, std::string_view value) {
  batch_->Put(store_.db_->of(family), slice(key), slice(value)).PermitUncheckedError();
}

void WriteUnit::put(Family family, std::string_view key, std::initializer_list<std::string_view> parts) {
  std::vector<rocksdb::Slice> slices;
  for (const auto part : parts) slices.push_back(slice(part));
  const rocksdb::Slice key_slice = slice(key);
  batch_
      ->Put(store_.db_->of(family),
            rocksdb::SliceParts(&key_slice, 1),
            rocksdb::SliceParts(slices.data(), static_cast<int>(slices.size())))
      .PermitUncheckedError();
}

void WriteUnit::erase(Family family, std::string_view key) {
  batch_->Delete(store_.db_->of(family), slice(key)).PermitUncheckedError();
}

void WriteUnit::erase_range(Family family, std::string_view from, std::string_view to) {
  batch_->DeleteRange(store_.db_->of(family), slice(from), slice(to)).PermitUncheckedError();
}

std::uint64_t WriteUnit::bytes() const { return batch_->GetDataSize(); }
bool WriteUnit::empty() const { return batch_->Count() == 0; }
void WriteUnit::clear() { batch_->Clear(); }

// ---------------------------------------------------------------- reading

RowCursor::RowCursor(std::unique_ptr<rocksdb::Iterator> rows, std::string end)
    : rows_(std::move(rows)), end_(std::move(end)) {}
RowCursor::~RowCursor() = default;
RowCursor::RowCursor(RowCursor&&) noexcept = default;

bool RowCursor::valid() const { return rows_->Valid() && (end_.empty() || key() < end_); }
std::string_view RowCursor::key() const { return text(rows_->key()); }
std::string_view RowCursor::value() const { return text(rows_->value()); }
void RowCursor::next() { rows_->Next(); }

Result<void> RowCursor::finish() const {
  if (!rows_->status().ok()) return from_rocksdb(rows_->status(), "scan");
  return ok();
}

ReadView::ReadView(const Store& store) : store_(&store) {
  if (store.writable()) snapshot_ = store.db_->db->GetSnapshot();
}

ReadView::~ReadView() {
  if (snapshot_ != nullptr) store_->db_->db->ReleaseSnapshot(snapshot_);
}

ReadView::ReadView(ReadView&& other) noexcept
    : store_(other.store_), snapshot_(std::exchange(other.snapshot_, nullptr)) {}

Result<std::optional<std::string>> ReadView::get(Family family, std::string_view key) const {
  rocksdb::ReadOptions options;
  options.snapshot = snapshot_;
  std::string value;
  const auto status = store_->db_->db->Get(options, store_->db_->of(family), slice(key), &value);
  if (status.IsNotFound()) return std::optional<std::string>();
  if (!status.ok()) return from_rocksdb(status, fmt::format("read a row of \"{}\"", family_name(family)));
  store_->count(family);
  return std::optional<std::string>(std::move(value));
}

RowCursor ReadView::scan(Family family, std::string_view from, std::string_view to) const {
  rocksdb::ReadOptions options;
  options.snapshot = snapshot_;
  std::unique_ptr<rocksdb::Iterator> rows(store_->db_->db->NewIterator(options, store_->db_->of(family)));
  rows->Seek(slice(from));
  store_->count(family);
  return RowCursor(std::move(rows), std::string(to));
}

RowCursor ReadView::scan_prefix(Family family, std::string_view prefix) const {
  return scan(family, prefix, keys::after_prefix(prefix));
}

Result<std::optional<std::pair<std::string, std::string>>> ReadView::last(Family family,
                                                                          std::string_view prefix) const {
  using Row = std::optional<std::pair<std::string, std::string>>;
  rocksdb::ReadOptions options;
  options.snapshot = snapshot_;
  std::unique_ptr<rocksdb::Iterator> rows(store_->db_->db->NewIterator(options, store_->db_->of(family)));
  rows->SeekForPrev(slice(keys::after_prefix(prefix)));
  if (!rows->status().ok()) return from_rocksdb(rows->status(), "seek");
  if (!rows->Valid() || !text(rows->key()).starts_with(prefix)) return Row();
  return Row(std::pair<std::string, std::string>(text(rows->key()), text(rows->value())));
}

// ---------------------------------------------------------------- Store

Store::Store(StoreOptions options, Access access) : options_(std::move(options)), access_(access) {}

Store::~Store() {
  // A destructor has no one to tell; commands that care call close() first.
  if (const auto closed = close(); !closed) return;
}

Result<std::unique_ptr<Store>> Store::open(const StoreOptions& options, Access access) {
  std::unique_ptr<Store> store(new Store(options, access));
  RESPOOL_TRY(store->prepare_directory());
  RESPOOL_TRY(store->open_database());
  RESPOOL_TRY(store->load_or_make_meta());
  return store;
}

Result<void> Store::prepare_directory() {
  std::error_code error;
  const bool exists = fs::exists(options_.directory / "db" / "CURRENT", error);
  if (access_ == Access::Read) {
    if (!exists) {
      return Error(ErrorCode::NotFound, fmt::format("no store in {}", options_.directory.string()), "respool ingest FILE");
    }
    return check_format_file();
  }
  const bool is_new = fs::create_directories(options_.directory, error);
  if (!error && is_new) fs::permissions(options_.directory, fs::perms::owner_all, error);
  if (!error && !is_new && !exists && !fs::exists(options_.directory / "format") && !fs::is_empty(options_.directory, error)) {
    return Error(ErrorCode::InvalidArgument,
                 fmt::format("{} is a folder with other things in it, not a store", options_.directory.string()),
                 "give --store a folder of its own");
  }
  if (error) {
    return Error(ErrorCode::Io, fmt::format("make {}: {}", options_.directory.string(), error.message()));
  }
  RESPOOL_TRY(refuse_network_file_system(options_.directory));
  RESPOOL_TRY(check_format_file());
  RESPOOL_TRY(owner_file_,
              take_owner_file(options_.directory,
                              options_.wait,
                              fmt::format("process {} on {} ({})", ::getpid(), options_.host, options_.purpose)));
  RESPOOL_TRY(break_seal(options_.directory));
  if (!fs::exists(options_.directory / "format", error)) {
    std::ofstream(options_.directory / "format") << "respool store format " << kFormatVersion << "\n";
  }
  return ok();
}

Result<void> Store::check_format_file() const {
  std::ifstream file(options_.directory / "format");
  if (!file) return ok();
  std::string word;
  std::uint32_t version = 0;
  file >> word >> word >> word >> version;
  if (version == 0) {
    return Error(ErrorCode::Corruption,
                 fmt::format("{}: not readable", (options_.directory / "format").string()),
                 fmt::format("it should say \"respool store format {}\"", kFormatVersion));
  }
  if (version <= kFormatVersion) return ok();
  return Error(ErrorCode::UnsupportedFormat,
               fmt::format("{} has format {}, this build knows {}", options_.directory.string(), version, kFormatVersion),
               "upgrade respool");
}

Result<void> Store::open_database() {
  const std::string path = (options_.directory / "db").string();
  rocksdb::DBOptions options = database_options();
  constexpr int kAttempts = 10;  // a reader tries again when a writer removes a file under it
  rocksdb::Status status;
  for (int attempt = 0; attempt < (access_ == Access::Read ? kAttempts : 1); ++attempt) {
    std::vector<std::string> names;
    status = rocksdb::DB::ListColumnFamilies(options, path, &names);
    if (!status.ok() && access_ == Access::Write && !fs::exists(options_.directory / "db" / "CURRENT")) {
      names = {rocksdb::kDefaultColumnFamilyName, kLogFamily, kIndexFamily, model_family(kFirstGeneration)};
    } else if (!status.ok()) {
      continue;
    }
    std::vector<rocksdb::ColumnFamilyDescriptor> families;
    for (const auto& name : names) families.emplace_back(name, family_options(name));
    auto database = std::make_unique<Database>();
    rocksdb::DB* db = nullptr;
    status = access_ == Access::Write
                 ? rocksdb::DB::Open(options, path, families, &database->owned, &db)
                 : rocksdb::DB::OpenForReadOnly(options, path, families, &database->owned, &db);
    if (!status.ok()) continue;
    database->db.reset(db);
    db_ = std::move(database);
    break;
  }
  if (!status.ok()) return from_rocksdb(status, fmt::format("open {}", path));
  db_->family[static_cast<std::size_t>(Family::Log)] = db_->named(kLogFamily);
  db_->family[static_cast<std::size_t>(Family::Index)] = db_->named(kIndexFamily);
  if (db_->named(kLogFamily) == nullptr || db_->named(kIndexFamily) == nullptr) {
    return Error(ErrorCode::Corruption, fmt::format("{}: a family is missing", path), "this is not a respool store");
  }
  return ok();
}

Result<void> Store::load_or_make_meta() {
  RESPOOL_TRY(const auto stored, view().get(Family::Index, keys::store_meta()));
  if (stored) {
    RESPOOL_TRY(meta_, decode<fb::StoreMetaT>(*stored, "the store's own row"));
  } else if (access_ == Access::Write) {
    meta_.format_version = kFormatVersion;
    meta_.origin = to_hex(random_bytes(16));
    meta_.origin_host = options_.host;
    const std::string secret = random_bytes(32);
    meta_.secret.assign(secret.begin(), secret.end());
    meta_.created_ms = options_.now_ms;
    meta_.generation = kFirstGeneration;
    WriteUnit unit(*this);
    unit.put(Family::Index, keys::store_meta(), encode(meta_));
    RESPOOL_TRY(commit(unit, Durability::Synced));
  } else {
    return Error(ErrorCode::NotFound, fmt::format("no store in {}", options_.directory.string()), "respool ingest FILE");
  }
  if (meta_.format_version > kFormatVersion) {
    return Error(ErrorCode::UnsupportedFormat,
                 fmt::format("{} has format {}, this build knows {}",
                             options_.directory.string(),
                             meta_.format_version,
                             kFormatVersion),
                 "upgrade respool");
  }
  auto* model = db_->named(model_family(meta_.generation));
  if (model == nullptr) {
    return Error(ErrorCode::Corruption, fmt::format("{}: the model's family is missing", options_.directory.string()));
  }
  db_->family[static_cast<std::size_t>(Family::Model)] = model;
  return access_ == Access::Write ? drop_other_models() : Result<void>(ok());
}

// What a rebuild left that ended between its steps.
Result<void> Store::drop_other_models() {
  for (auto*& handle : db_->owned) {
    if (handle == nullptr || handle->GetName().rfind("model@", 0) != 0 || handle == db_->of(Family::Model)) continue;
    const auto dropped = db_->db->DropColumnFamily(handle);
    if (!dropped.ok()) return from_rocksdb(dropped, "drop a model that is not live");
    db_->forget(handle);
  }
  return ok();
}

Result<void> Store::commit(WriteUnit& unit, Durability durability) {
  RESPOOL_ASSERT(writable());
  rocksdb::WriteOptions options;
  options.sync = durability == Durability::Synced;
  const auto status = db_->db->Write(options, unit.batch_.get());
  if (!status.ok()) return from_rocksdb(status, fmt::format("write to {}", options_.directory.string()));
  unit.clear();
  return ok();
}

Result<void> Store::sync() {
  const auto status = db_->db->SyncWAL();
  if (!status.ok()) return from_rocksdb(status, fmt::format("sync {}", options_.directory.string()));
  return ok();
}

Result<void> Store::close() {
  if (!db_) {
    if (owner_file_ >= 0) ::close(std::exchange(owner_file_, -1));
    return ok();
  }
  Result<void> result = ok();
  if (writable()) {
    std::vector<rocksdb::ColumnFamilyHandle*> families;
    for (auto* handle : db_->owned) {
      if (handle != nullptr) families.push_back(handle);
    }
    const auto status = db_->db->Flush(rocksdb::FlushOptions(), families);
    if (!status.ok()) result = from_rocksdb(status, fmt::format("flush {}", options_.directory.string()));
  }
  db_.reset();
  if (writable() && result) result = write_seal(options_.directory);
  if (owner_file_ >= 0) ::close(std::exchange(owner_file_, -1));
  return result;
}

Result<void> Store::start_next_model() {
  RESPOOL_TRY(drop_other_models());
  const std::string name = model_family(meta_.generation + 1);
  rocksdb::ColumnFamilyHandle* made = nullptr;
  const auto status = db_->db->CreateColumnFamily(family_options(name), name, &made);
  if (!status.ok()) return from_rocksdb(status, "make the next model");
  db_->owned.push_back(made);
  db_->family[static_cast<std::size_t>(Family::NextModel)] = made;
  return ok();
}

Result<void> Store::promote_next_model() {
  auto* old = db_->of(Family::Model);
  fb::StoreMetaT next = meta_;
  ++next.generation;
  WriteUnit unit(*this);
  unit.put(Family::Index, keys::store_meta(), encode(next));
  RESPOOL_TRY(commit(unit, Durability::Synced));
  meta_ = next;
  db_->family[static_cast<std::size_t>(Family::Model)] = db_->of(Family::NextModel);
  db_->family[static_cast<std::size_t>(Family::NextModel)] = nullptr;
  const auto dropped = db_->db->DropColumnFamily(old);
  if (!dropped.ok()) return from_rocksdb(dropped, "drop the old model");
  db_->forget(old);
  return ok();
}

Result<void> Store::verify_files() const {
  const auto status = db_->db->VerifyFileChecksums(rocksdb::ReadOptions());
  if (!status.ok()) return from_rocksdb(status, "check the data files");
  return ok();
}

std::uint64_t Store::disk_bytes() const {
  std::uint64_t bytes = 0;
  std::error_code error;
  for (const auto& entry : fs::recursive_directory_iterator(options_.directory, error)) {
    if (entry.is_regular_file(error)) bytes += entry.file_size(error);
  }
  return bytes;
}

void Store::count(Family family) const {
  rows_read_[static_cast<std::size_t>(family)].fetch_add(1, std::memory_order_relaxed);
}

std::uint64_t Store::rows_read(Family family) const { return rows_read_[static_cast<std::size_t>(family)].load(); }

}  // namespace respool
