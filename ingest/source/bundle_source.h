#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "schema/bundle_format.h"
#include "schema/ids.h"

#include "engine/log/event.h"

#include "ingest/source/spill_buffer.h"

namespace respool {

// One stream as a bundle announces it.
struct BundleStream {
  StreamName name;
  Origin origin;
  EventNumber first;
  EventNumber last;
  std::string before;  // chain after event first - 1, 32 bytes
  std::string head;    // chain after event last
};

// One event of it. Its chain was computed again and is the one the bundle states.
struct BundleEvent {
  EventNumber number;
  fb::EventHeaderT header;
  Sha256 raw_digest{};
  std::string_view raw;     // lives until the next call of next()
  std::uint64_t place = 0;  // where in the bundle the block lies that it begins in
};

// Reads a bundle record by record and believes none of it unchecked: blocks, order and number of
// streams and events, names, sizes, and every link of every chain.
//
// Threads: one at a time. Memory: two blocks, one event's header, and at most
// SpillBuffer::kSpillBytes of its raw bytes.
// Errors:  Corruption names the byte from which on nothing can be read; UnsupportedFormat both
//          formats. What next() gave before holds.
class BundleSource {
 public:
  enum class Item {
    Stream,  // stream() begins
    Event,   // event() is the stream's next
    Broken,  // what follows of the stream is passed over: problem() says why
    End,     // all was read, and is what the bundle's end says
  };

  // `name` is what messages call the bundle.
  BundleSource(ByteSource source, const std::string& name) : reader_(std::move(source), name) {}

  // Reads what the bundle says of itself; before anything else.
  Result<void> begin();
  const fb::BundleHeadT& head() const { return head_; }

  Result<Item> next();
  const BundleStream& stream() const { return *stream_; }
  const BundleEvent& event() const { return event_; }
  const Error& problem() const { return *problem_; }

 private:
  template <class Row>
  Result<Row> read_row();
  Result<void> read_stream();
  Result<void> read_event();
  Result<void> read_raw(std::uint64_t size);
  Result<void> check_end() const;
  std::optional<Error> link_event();
  Error refuse(std::string_view what) const;

  BundleReader reader_;
  fb::BundleHeadT head_;
  std::optional<BundleStream> stream_;
  std::uint64_t expected_ = 1;  // the number of the stream's next event
  std::string chain_;           // after the event before it
  bool broken_ = false;
  BundleEvent event_;
  std::optional<Error> problem_;
  BundleTotals totals_;
  std::uint64_t sessions_ = 0;
  std::string last_session_;
  std::string bytes_;
  SpillBuffer raw_;
};

}  // namespace respool
