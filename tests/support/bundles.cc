#include "tests/support/bundles.h"

#include <algorithm>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>

#include "schema/descriptor.h"

#include "engine/integrity/hash_chain.h"
#include "engine/integrity/verify.h"

namespace respool::test {

std::string bundle_of(TempStore& store, const BundleRequest& request) {
  std::string bundle;
  value(write_bundle(store.reader(), request, [&](std::string_view bytes) -> Result<void> {
    bundle += bytes;
    return ok();
  }));
  return bundle;
}

std::string bundle_of_all(TempStore& store) {
  return bundle_of(store, {.all = true, .sessions = {}, .since = {}});
}

IngestCounts take_bundle(TempStore& store, std::string_view bytes) {
  const auto path = store.path() / "taken";
  write_file(path, bytes);
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const auto recorder = value(Recorder::open(store.store()));
  Ingester ingester(*recorder, test_options());
  check(ingester.read(file.get(), "taken"));
  check(recorder->finish());
  return ingester.counts();
}

std::vector<std::string> heads_of(TempStore& store) {
  std::vector<std::string> heads;
  for (const auto& head : value(verify_store(store.store(), std::nullopt)).heads)
    heads.push_back(fmt::format("{} {} {} {} {}",
                                static_cast<char>(head.kind),
                                head.stream,
                                head.origin,
                                head.events,
                                head.chain));
  return heads;
}

ByteSource source_of(std::string_view bytes, std::size_t piece_bytes) {
  return [bytes, piece_bytes](char* buffer, std::size_t size) mutable -> Result<std::size_t> {
    const std::string_view piece = bytes.substr(0, std::min(size, piece_bytes));
    std::memcpy(buffer, piece.data(), piece.size());
    bytes.remove_prefix(piece.size());
    return piece.size();
  };
}

std::vector<std::size_t> block_borders(std::string_view bundle) {
  std::vector<std::size_t> borders;
  constexpr std::size_t kAround = 1 + 4 + 4 + 8;
  for (std::size_t at = bundle.find('\n') + 1; at < bundle.size();) {
    borders.push_back(at);
    at += kAround + from_big_endian(bundle.substr(at + 5, 4));
  }
  borders.push_back(bundle.size());
  return borders;
}

BundleReading read_bundle(std::string_view bytes) {
  BundleReading reading;
  BundleSource source(source_of(bytes), "b");
  if (auto begun = source.begin(); !begun) {
    reading.error = begun.error();
    return reading;
  }
  while (true) {
    const auto item = source.next();
    if (!item) reading.error = item.error();
    if (!item || item.value() == BundleSource::Item::End) return reading;
    if (item.value() == BundleSource::Item::Broken) reading.broken = true;
    if (item.value() != BundleSource::Item::Event) continue;
    const auto& event = source.event();
    reading.events.push_back(fmt::format("{} {} {} {} {}",
                                         source.stream().name.text,
                                         source.stream().origin.id,
                                         event.number.value,
                                         to_hex(bytes_of(event.header.chain)),
                                         event.raw));
  }
}

// ---------------------------------------------------------------- bundles by hand

fb::BundleStreamT BundleBuilder::describe(const StreamName& name,
                                          const std::vector<std::string>& raws) {
  fb::BundleStreamT row;
  row.kind = static_cast<std::uint8_t>(name.kind);
  row.name = name.text;
  row.origin = kOrigin;
  row.first = 1;
  row.last = raws.size();
  const auto assign = [](std::vector<std::uint8_t>& to, std::string_view bytes) {
    to.assign(bytes.begin(), bytes.end());
  };
  Sha256 chain = chain_start(name, kOrigin);
  headers_.clear();
  raws_ = raws;
  next_ = 0;
  for (const auto& raw : raws) {
    fb::EventHeaderT header;
    header.shape = static_cast<std::uint8_t>(Shape::BusEvent);
    header.wire_type = "session.idle";
    header.received_ms = kNow;
    header.raw_bytes = raw.size();
    header.salt.assign(16, 7);
    chain = chain_next(as_bytes(chain), header, commitment_of(bytes_of(header.salt), sha256(raw)));
    assign(header.chain, as_bytes(chain));
    headers_.push_back(header);
  }
  assign(row.head, as_bytes(chain));
  return row;
}

BundleBuilder& BundleBuilder::event(std::size_t index) {
  return event(headers_.at(index), raws_.at(index));
}

BundleBuilder& BundleBuilder::event(const fb::EventHeaderT& header, std::string_view raw) {
  const std::string encoded = encode(header);
  raw_bytes_ += raw.size();
  plain_ += "E" + big_endian<4>(encoded.size()) + big_endian<8>(raw.size()) + encoded;
  plain_ += raw;
  return *this;
}

BundleBuilder& BundleBuilder::record(char kind, std::string_view row) {
  plain_ += std::string(1, kind) + big_endian<4>(row.size());
  plain_ += row;
  return *this;
}

BundleBuilder& BundleBuilder::bytes(std::string_view bytes) {
  plain_ += bytes;
  return *this;
}

std::string BundleBuilder::finish(std::uint64_t sessions,
                                  std::uint64_t streams,
                                  std::uint64_t events) {
  fb::BundleHeadT head;
  head.origin = kOrigin;
  head.respool = "0.0.0";
  head.sessions = sessions;
  head.streams = streams;
  head.events = events;
  const std::string row = encode(head);
  std::string bundle;
  BundleWriter writer([&](std::string_view bytes) -> Result<void> {
    bundle += bytes;
    return ok();
  });
  check(writer.begin());
  check(writer.write("B" + big_endian<4>(row.size()) + row));
  check(writer.write(plain_));
  check(writer.finish({streams, events, raw_bytes_}));
  return bundle;
}

}  // namespace respool::test
