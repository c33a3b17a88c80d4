#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "schema/codec.h"
#include "schema/error.h"

#include "engine/storage/read_view.h"
#include "engine/storage/write_unit.h"

namespace respool {

// The layout on disk this build writes; a store with a greater one is refused.
inline constexpr std::uint32_t kFormatVersion = 1;

enum class Durability : std::uint8_t {
  Buffered,  // survives our own crash; a power cut may take it until sync()
  Synced,    // survives a power cut
};

enum class Access : std::uint8_t {
  Read,   // a fixed view, beside any writer
  Write,  // alone: takes the owner file
};

struct StoreOptions {
  std::filesystem::path directory;
  std::chrono::milliseconds wait{0};  // how long a writer waits for another one to finish
  std::string host;                   // this machine's name, for people and for the owner file
  std::string purpose;                // what the owner file says we do, such as "ingest"
  std::int64_t now_ms = 0;            // stamped on a store that is made by this call
};

// One store on disk: RocksDB, its families, and the files beside it.
//
// Threads:   any member from any thread, but one commit at a time.
// Ownership: a writer holds the owner file's lock until the store is destroyed or closed.
// Errors:    StoreBusy names the owner; UnsupportedFormat both versions; Corruption the file.
class Store {
 public:
  // Opens the store; Write makes it where there is none, Read answers NotFound.
  static Result<std::unique_ptr<Store>> open(const StoreOptions& options, Access access);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  ReadView view() const { return ReadView(*this); }
  Result<void> commit(WriteUnit& unit, Durability durability);
  // Everything committed so far survives a power cut once this returns.
  Result<void> sync();
  // Flushes, closes and seals. The destructor does the same and drops the error.
  Result<void> close();

  const fb::StoreMetaT& meta() const { return meta_; }
  const std::filesystem::path& directory() const { return options_.directory; }
  bool writable() const { return access_ == Access::Write; }

  // Makes an empty family for the next model, dropping what an unfinished rebuild left.
  Result<void> start_next_model();
  // Makes the next model the live one, in one write, and drops the old one.
  Result<void> promote_next_model();

  // Checks every byte of every data file against the checksums recorded when it was written.
  Result<void> verify_files() const;
  // The families' bytes on disk.
  std::uint64_t disk_bytes() const;

  // How many rows were read of each family since opening: for tests of what a question costs.
  std::uint64_t rows_read(Family family) const;

 private:
  friend class ReadView;
  friend class WriteUnit;
  friend class RowCursor;
  struct Database;

  Store(StoreOptions options, Access access);
  Result<void> prepare_directory();
  Result<void> check_format_file() const;
  Result<void> write_format_file() const;
  Result<void> open_database();
  Result<void> load_or_make_meta();
  Result<void> drop_other_models();
  void count(Family family) const;

  StoreOptions options_;
  Access access_;
  int owner_file_ = -1;
  bool opened_ = false;  // all of it: only then does closing seal it
  std::unique_ptr<Database> db_;
  fb::StoreMetaT meta_;
  mutable std::atomic<std::uint64_t> rows_read_[4] = {};
};

}  // namespace respool
