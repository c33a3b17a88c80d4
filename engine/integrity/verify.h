#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schema/ids.h"

#include "engine/storage/store.h"

namespace respool {

// One thing wrong with a store.
struct Damage {
  std::string stream;  // the session's id or host's name, "" where a file is damaged
  std::optional<EventNumber> event;
  std::string what;
};

// The end of one stream: equal heads mean equal events, in the same order, from the first on.
struct HeadLine {
  std::string stream;
  StreamKind kind = StreamKind::Session;
  std::string origin;
  std::uint64_t events = 0;
  std::string chain;  // hex
};

struct VerifyReport {
  std::vector<Damage> damages;
  std::vector<HeadLine> heads;
  std::uint64_t events = 0;
};

// Checks files, chains, event numbers, positions, checkpoint, and the model against a fresh fold.
// Damage is in the report; an Error means that checking itself could not go on.
Result<VerifyReport> verify_store(const Store& store, const std::optional<StreamName>& only);

// What can be checked without opening RocksDB: files that changed since the store was closed.
struct SealReport {
  std::optional<Damage> damage;
  bool sealed = false;  // false: a writer is active or did not close, so files were not compared
};
Result<SealReport> verify_seal(const std::filesystem::path& directory);

// The chain of a stream after its first `events` events, hex. NotFound where it has fewer.
Result<std::string> chain_after(const ReadView& view,
                                const StreamName& stream,
                                std::string_view origin,
                                std::uint64_t events);

}  // namespace respool
