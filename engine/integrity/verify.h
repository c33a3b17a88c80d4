#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/storage/store.h"
#include "schema/ids.h"

namespace respool {

// One thing wrong with a store.
struct Damage {
  std::string stream;            // the session's id or host's name, "" where a file is damaged
  std::optional<EventNumber> event;
  std::string what;
};

// The end of one stream: equal heads mean equal events, in the same order, from the first on.
struct HeadLine {
  std::string stream;
  StreamKind kind = StreamKind::Session;
  std::string origin;
  std::uint64_t events = 0;
  std::string chain;             // hex
};

struct VerifyReport {
  std::vector<Damage> damages;
  std::vector<HeadLine> heads;
  std::uint64_t events = 0;
  bool sealed = false;           // the store was closed cleanly, so its small files are covered too
};

// Checks files, chains, event numbers, positions, checkpoint, and the model against a fresh fold.
// Damage is in the report; an Error means that checking itself could not go on.
Result<VerifyReport> verify_store(const Store& store, const std::optional<StreamName>& only);

// What can be checked without opening RocksDB: files that changed since the store was closed.
Result<std::optional<Damage>> verify_seal(const std::filesystem::path& directory);

// The chain of a stream after its first `events` events, hex. NotFound where it has fewer.
Result<std::string> chain_after(const ReadView& view, const StreamName& stream, std::string_view origin, std::uint64_t events);

}  // namespace respool
