#include "engine/storage/database.h"

#include <rocksdb/file_checksum.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/table.h>

namespace respool {
namespace {

// RocksDB's own log would only say what the errors say already.
class NullLogger : public rocksdb::Logger {
 public:
  using rocksdb::Logger::Logv;
  void Logv(const char*, va_list) override {}
};

}  // namespace

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

}  // namespace respool
