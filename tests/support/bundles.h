#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/log/event.h"

#include "ingest/source/bundle_source.h"
#include "query/export/bundle.h"

#include "tests/support/temp_store.h"

namespace respool::test {

// The bundle that `request` asks of a store.
std::string bundle_of(TempStore& store, const BundleRequest& request);
std::string bundle_of_all(TempStore& store);
// Takes a bundle, or what is to pass for one, into a store as `ingest` does.
IngestCounts take_bundle(TempStore& store, std::string_view bytes);

// A line for each stream's head, as `verify` finds them.
std::vector<std::string> heads_of(TempStore& store);

// Gives bytes in memory as a source does, at most `piece_bytes` at once.
ByteSource source_of(std::string_view bytes, std::size_t piece_bytes = std::string::npos);
// Where the blocks of a bundle begin, and where it ends.
std::vector<std::size_t> block_borders(std::string_view bundle);

// What reading a bundle gave before its end, or before the first thing wrong with it.
struct BundleReading {
  std::vector<std::string> events;  // "stream origin number chain raw"
  std::optional<Error> error;       // what ended it
  bool broken = false;              // a stream was refused
};
BundleReading read_bundle(std::string_view bytes);

// Builds bundles by hand, good ones and others.
class BundleBuilder {
 public:
  static constexpr std::string_view kOrigin = "0123456789abcdef0123456789abcdef";

  // The record of a stream that will have these events; `change` may spoil it.
  template <class Change>
  BundleBuilder& stream(const StreamName& name,
                        const std::vector<std::string>& raws,
                        Change change) {
    fb::BundleStreamT row = describe(name, raws);
    change(row);
    return record('S', encode(row));
  }
  BundleBuilder& stream(const StreamName& name, const std::vector<std::string>& raws) {
    return stream(name, raws, [](fb::BundleStreamT&) {});
  }
  // The next event of the stream described last.
  BundleBuilder& event() { return event(next_++); }
  BundleBuilder& event(std::size_t index);
  BundleBuilder& event(const fb::EventHeaderT& header, std::string_view raw);
  BundleBuilder& record(char kind, std::string_view row);
  BundleBuilder& bytes(std::string_view bytes);
  const fb::EventHeaderT& header(std::size_t index) const { return headers_.at(index); }

  // Ends the bundle, whose head and end say so many.
  std::string finish(std::uint64_t sessions, std::uint64_t streams, std::uint64_t events);

 private:
  fb::BundleStreamT describe(const StreamName& name, const std::vector<std::string>& raws);

  std::string plain_;
  std::uint64_t raw_bytes_ = 0;
  std::vector<fb::EventHeaderT> headers_;
  std::vector<std::string> raws_;
  std::size_t next_ = 0;
};

}  // namespace respool::test
