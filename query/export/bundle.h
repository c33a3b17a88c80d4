#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "schema/bundle_format.h"
#include "schema/ids.h"

#include "query/store_reader.h"

namespace respool {

// What a bundle is to carry.
struct BundleRequest {
  bool all = false;                  // every stream, those of hosts too
  std::set<std::string> sessions;    // else the streams of these sessions, of all origins
  std::optional<LogPosition> since;  // only events recorded after it
};

// What a bundle carries.
struct BundleReport {
  std::uint64_t sessions = 0;
  std::uint64_t streams = 0;
  std::uint64_t events = 0;
  std::uint64_t raw_bytes = 0;
  std::uint64_t bytes = 0;            // of the bundle
  LogPosition until;                  // the store's last event: where the next one can go on
  std::vector<std::string> left_out;  // streams whose names a bundle cannot carry
};

// Writes streams as the store holds them, each event as its origin stored it, so that another store
// continues with equal chain heads. Equal stores and requests give equal bytes.
//
// Errors: NotFound names a session that is not there; InvalidArgument a cursor behind the end;
//         Corruption stream and event; those of the sink.
// Memory: a few hundred bytes a stream, a few MiB whatever the events' sizes.
Result<BundleReport> write_bundle(const StoreReader& reader,
                                  const BundleRequest& request,
                                  const ByteSink& sink);

// The sessions, their child sessions, and theirs: what is continued together.
Result<std::set<std::string>> with_children(const StoreReader& reader,
                                            const std::set<std::string>& sessions);

}  // namespace respool
