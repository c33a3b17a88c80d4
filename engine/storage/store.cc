#include "engine/storage/store.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <optional>
#include <utility>

#include <unistd.h>

#include <fmt/format.h>

#include "schema/assert.h"
#include "schema/digest.h"

#include "engine/storage/database.h"
#include "engine/storage/keys.h"
#include "engine/storage/owner_file.h"
#include "engine/storage/seal.h"
#include "engine/storage/status.h"

namespace respool {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kFirstGeneration = 1;

std::string model_family(std::uint32_t generation) {
  return fmt::format("model@{}", generation);
}

}  // namespace

namespace {

// True where a folder holds what no store does, so that it is somebody's and not a store to be.
bool has_foreign_files(const fs::path& directory) {
  constexpr auto kOwn = std::to_array<std::string_view>({"db",
                                                         "format",
                                                         "format.incomplete",
                                                         "owner",
                                                         "seal",
                                                         "seal.incomplete",
                                                         "seal.previous",
                                                         "spool"});
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    const std::string name = entry.path().filename().string();
    if (std::find(kOwn.begin(), kOwn.end(), name) == kOwn.end()) return true;
  }
  return false;
}

// A store whose making was cut short lacks families: they are empty, and made now.
void add_missing_families(std::vector<std::string>& names) {
  const auto has = [&](const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  const bool has_model = std::any_of(
      names.begin(), names.end(), [](const auto& name) { return name.starts_with("model@"); });
  for (const char* name : {kLogFamily, kIndexFamily}) {
    if (!has(name)) names.emplace_back(name);
  }
  if (!has_model) names.push_back(model_family(kFirstGeneration));
}

}  // namespace

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
  store->opened_ = true;
  return store;
}

Result<void> Store::prepare_directory() {
  std::error_code error;
  const bool exists = fs::exists(options_.directory / "db" / "CURRENT", error);
  if (access_ == Access::Read) {
    if (!exists) {
      return Error(ErrorCode::NotFound,
                   fmt::format("no store in {}", options_.directory.string()),
                   "respool ingest FILE");
    }
    return check_format_file();
  }
  const bool is_new = fs::create_directories(options_.directory, error);
  if (!error && is_new) fs::permissions(options_.directory, fs::perms::owner_all, error);
  if (!error && !is_new && !exists && has_foreign_files(options_.directory)) {
    return Error(ErrorCode::InvalidArgument,
                 fmt::format("{} is a folder with other things in it, not a store",
                             options_.directory.string()),
                 "give --store a folder of its own");
  }
  if (error) {
    return Error(ErrorCode::Io,
                 fmt::format("make {}: {}", options_.directory.string(), error.message()));
  }
  RESPOOL_TRY(refuse_network_file_system(options_.directory));
  RESPOOL_TRY(check_format_file());
  RESPOOL_TRY(
      owner_file_,
      take_owner_file(
          options_.directory,
          options_.wait,
          fmt::format("process {} on {} ({})", ::getpid(), options_.host, options_.purpose)));
  RESPOOL_TRY(break_seal(options_.directory));
  return write_format_file();
}

// Under another name first: a process that dies in between leaves no half a file.
Result<void> Store::write_format_file() const {
  std::error_code error;
  const auto path = options_.directory / "format";
  if (fs::exists(path, error)) return ok();
  const auto incomplete = options_.directory / "format.incomplete";
  std::ofstream file(incomplete);
  file << "respool store format " << kFormatVersion << "\n";
  file.close();
  if (file) fs::rename(incomplete, path, error);
  if (!file || error) return Error(ErrorCode::Io, fmt::format("write {}", path.string()));
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
               fmt::format("{} has format {}, this build knows {}",
                           options_.directory.string(),
                           version,
                           kFormatVersion),
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
    if (!status.ok() && access_ == Access::Write &&
        !fs::exists(options_.directory / "db" / "CURRENT")) {
      names = {rocksdb::kDefaultColumnFamilyName,
               kLogFamily,
               kIndexFamily,
               model_family(kFirstGeneration)};
    } else if (!status.ok()) {
      continue;
    }
    if (access_ == Access::Write) add_missing_families(names);
    std::vector<rocksdb::ColumnFamilyDescriptor> families;
    for (const auto& name : names)
      families.emplace_back(name, family_options(name));
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
    return Error(ErrorCode::Corruption,
                 fmt::format("{}: a family is missing", path),
                 "this is not a respool store");
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
    return Error(ErrorCode::NotFound,
                 fmt::format("no store in {}", options_.directory.string()),
                 "respool ingest FILE");
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
    return Error(ErrorCode::Corruption,
                 fmt::format("{}: the model's family is missing", options_.directory.string()));
  }
  db_->family[static_cast<std::size_t>(Family::Model)] = model;
  return access_ == Access::Write ? drop_other_models() : Result<void>(ok());
}

// What a rebuild left that ended between its steps.
Result<void> Store::drop_other_models() {
  for (auto*& handle : db_->owned) {
    if (handle == nullptr || handle->GetName().rfind("model@", 0) != 0 ||
        handle == db_->of(Family::Model))
      continue;
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
  if (!status.ok())
    return from_rocksdb(status, fmt::format("write to {}", options_.directory.string()));
  unit.clear();
  return ok();
}

Result<void> Store::sync() {
  const auto status = db_->db->SyncWAL();
  if (!status.ok())
    return from_rocksdb(status, fmt::format("sync {}", options_.directory.string()));
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
    if (!status.ok())
      result = from_rocksdb(status, fmt::format("flush {}", options_.directory.string()));
  }
  db_.reset();
  if (writable() && opened_ && result) result = write_seal(options_.directory);
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

std::uint64_t Store::rows_read(Family family) const {
  return rows_read_[static_cast<std::size_t>(family)].load();
}

}  // namespace respool
