#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ingest/ingester.h"
#include "query/store_reader.h"

#include "tests/support/files.h"

namespace respool::test {

// The moment all tests run at. Real captures lie just before it.
inline constexpr std::int64_t kNow = 1'796'100'000'000;  // 2026-12-01T04:40:00Z

// Fails the test with the error's text.
[[noreturn]] void fail_with(const Error& error);

template <class T>
T value(Result<T> result) {
  if (!result) fail_with(result.error());
  return std::move(result.value());
}
inline void check(Result<void> result) {
  if (!result) fail_with(result.error());
}

// A store in a folder of its own, with what tests do to one.
class TempStore {
 public:
  TempStore();

  // Takes sources in; each returns what was counted.
  IngestCounts ingest(std::string_view bytes,
                      const std::string& name = "bytes",
                      std::size_t piece_bytes = std::string::npos);
  IngestCounts ingest_file(const fs::path& path);
  IngestCounts ingest_with(std::string_view bytes, IngestOptions options);

  Store& store() { return *store_; }
  StoreReader reader() const { return StoreReader(*store_); }
  const fs::path& path() const { return dir_.path(); }

  SessionNumber number(const std::string& session) const;
  SessionFacts facts(const std::string& session) const;
  std::vector<std::string> session_ids() const;
  // Every event's raw bytes in the order the store recorded them.
  std::vector<std::string> raw_events() const;

  // Closes and seals the store; nothing else may be called then but path() and reopen().
  void close();
  void reopen();

 private:
  TempDir dir_;
  std::unique_ptr<Store> store_;
};

IngestOptions test_options();

// What a full check of the store finds wrong: "" where it is whole.
std::string damage_of(const Store& store);

// Everything the model says but for pointers into the log: equal texts, equal models.
std::string dump_model(const StoreReader& reader);
// The facts of one session, pointers left out.
std::string dump_facts(const SessionFacts& facts);

}  // namespace respool::test
