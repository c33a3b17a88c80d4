#include "ingest/source/bundle_source.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "schema/opencode/plain_text.h"
#include "schema/opencode/shape.h"

#include "engine/integrity/hash_chain.h"

namespace respool {
namespace {

constexpr std::size_t kRowLengthBytes = 4;
constexpr std::size_t kRawLengthBytes = 8;
constexpr std::size_t kSaltBytes = 16;
constexpr std::size_t kDigestBytes = sizeof(Sha256);
constexpr std::size_t kMaxHostBytes = 4096;

// Streams stand in this order, each once.
auto order_of(const BundleStream& stream) {
  return std::tie(stream.name, stream.origin.id);
}

}  // namespace

template <class Row>
Result<Row> BundleSource::read_row() {
  RESPOOL_TRY(reader_.read_exactly(kRowLengthBytes, bytes_));
  const std::uint64_t size = from_big_endian(bytes_);
  if (size > kMaxBundleRowBytes) return reader_.damaged("a row is longer than rows may be");
  RESPOOL_TRY(reader_.read_exactly(size, bytes_));
  auto row = decode<Row>(bytes_, "bundle");
  if (!row) return reader_.damaged("a row cannot be read");
  return row;
}

Result<void> BundleSource::begin() {
  RESPOOL_TRY(reader_.begin());
  RESPOOL_TRY(reader_.read_exactly(1, bytes_));
  if (bytes_.front() != static_cast<char>(BundleRecord::Head))
    return reader_.damaged("the bundle does not say who wrote it");
  RESPOOL_TRY(head_, read_row<fb::BundleHeadT>());
  if (!is_origin_id(head_.origin)) return reader_.damaged("the bundle's origin is none");
  return ok();
}

Result<BundleSource::Item> BundleSource::next() {
  while (true) {
    RESPOOL_TRY(const std::string_view kind, reader_.read(1));
    if (kind.empty()) {
      RESPOOL_TRY(check_end());
      return Item::End;
    }
    if (kind.front() == static_cast<char>(BundleRecord::Stream)) {
      RESPOOL_TRY(read_stream());
      return Item::Stream;
    }
    if (kind.front() != static_cast<char>(BundleRecord::Event))
      return reader_.damaged("a record of an unknown kind");
    RESPOOL_TRY(read_event());
    if (broken_) continue;
    problem_ = link_event();
    broken_ = problem_.has_value();
    return broken_ ? Item::Broken : Item::Event;
  }
}

Result<void> BundleSource::read_stream() {
  RESPOOL_TRY(const auto row, read_row<fb::BundleStreamT>());
  if (stream_ && expected_ <= stream_->last.value)
    return reader_.damaged(
        fmt::format("event {} of stream {} is missing", expected_, plain_text(stream_->name.text)));
  const char kind = static_cast<char>(row.kind);
  if (!is_bundle_name(kind, row.name) || !is_origin_id(row.origin) ||
      row.origin_host.size() > kMaxHostBytes)
    return reader_.damaged("a stream's name is not one");
  const bool whole = row.first == 1 && row.before.empty();
  const bool later = row.first > 1 && row.before.size() == kDigestBytes;
  if ((!whole && !later) || row.last < row.first || row.head.size() != kDigestBytes)
    return reader_.damaged(fmt::format("stream {} is not described as one", plain_text(row.name)));
  BundleStream stream{.name = {static_cast<StreamKind>(kind), row.name},
                      .origin = {row.origin, row.origin_host},
                      .first = {row.first},
                      .last = {row.last},
                      .before = std::string(bytes_of(row.before)),
                      .head = std::string(bytes_of(row.head))};
  if (stream_ && order_of(stream) <= order_of(*stream_))
    return reader_.damaged(
        fmt::format("stream {} stands twice or out of order", plain_text(row.name)));
  if (whole) {
    const Sha256 start = chain_start(stream.name, stream.origin.id);
    stream.before = as_bytes(start);
  }
  if (stream.name.kind == StreamKind::Session && stream.name.text != last_session_) {
    ++sessions_;
    last_session_ = stream.name.text;
  }
  ++totals_.streams;
  expected_ = stream.first.value;
  chain_ = stream.before;
  broken_ = false;
  stream_ = std::move(stream);
  return ok();
}

Result<void> BundleSource::read_event() {
  if (!stream_ || expected_ > stream_->last.value)
    return reader_.damaged("an event stands where no stream has one");
  event_.place = reader_.offset();
  RESPOOL_TRY(reader_.read_exactly(kRowLengthBytes + kRawLengthBytes, bytes_));
  const std::string_view lengths = bytes_;
  const std::uint64_t header_bytes = from_big_endian(lengths.substr(0, kRowLengthBytes));
  const std::uint64_t raw_bytes = from_big_endian(lengths.substr(kRowLengthBytes));
  if (header_bytes > kMaxBundleHeaderBytes || raw_bytes > kMaxBundleRawBytes)
    return reader_.damaged("an event is longer than events may be");
  RESPOOL_TRY(reader_.read_exactly(header_bytes, bytes_));
  auto header = decode<fb::EventHeaderT>(bytes_, "bundle");
  if (!header) return reader_.damaged("an event's header cannot be read");
  event_.header = std::move(header.value());
  event_.number = {expected_++};
  RESPOOL_TRY(read_raw(raw_bytes));
  ++totals_.events;
  totals_.raw_bytes += raw_bytes;
  return ok();
}

// Where they lie in one block they are lent from there.
Result<void> BundleSource::read_raw(std::uint64_t size) {
  raw_.clear();
  event_.raw = {};
  if (size == 0) return ok();
  RESPOOL_TRY(std::string_view piece, reader_.read(size));
  if (piece.size() == size) {
    event_.raw = piece;
    return ok();
  }
  while (true) {
    if (piece.empty()) return reader_.damaged("the bundle ends inside an event");
    RESPOOL_TRY(raw_.append(piece));
    if (raw_.size() == size) break;
    RESPOOL_TRY(piece, reader_.read(size - raw_.size()));
  }
  RESPOOL_TRY(event_.raw, raw_.view());
  return ok();
}

// What is wrong with the event that was read, nothing where it continues its stream.
std::optional<Error> BundleSource::link_event() {
  const auto& header = event_.header;
  event_.raw_digest = sha256(event_.raw);
  if (header.shape > static_cast<std::uint8_t>(kLastShape)) {
    return Error(ErrorCode::UnsupportedFormat,
                 fmt::format("stream {}: event {}: its source is of kind {}, which this build does "
                             "not know; what stands before it is kept",
                             plain_text(stream_->name.text),
                             event_.number.value,
                             header.shape),
                 "upgrade respool here");
  }
  const bool erased = !header.commitment.empty();
  Sha256 commitment{};
  if (erased) {
    if (header.commitment.size() != kDigestBytes || !header.salt.empty() ||
        header.raw_bytes > kMaxBundleRawBytes)
      return refuse("is not erased as events are");
    std::ranges::copy(header.commitment, commitment.begin());
  } else {
    if (header.salt.size() != kSaltBytes || header.raw_bytes != event_.raw.size())
      return refuse("does not have the size that it states");
    commitment = commitment_of(bytes_of(header.salt), event_.raw_digest);
  }
  const Sha256 chain = chain_next(chain_, header, commitment);
  if (as_bytes(chain) != bytes_of(header.chain))
    return refuse("has another checksum than the bundle says: it was changed");
  chain_ = as_bytes(chain);
  if (event_.number == stream_->last && chain_ != stream_->head)
    return refuse("does not lead to the head that the bundle says");
  return std::nullopt;
}

Error BundleSource::refuse(std::string_view what) const {
  return Error(ErrorCode::Corruption,
               fmt::format("stream {}: event {} {}; what stands before it is kept",
                           plain_text(stream_->name.text),
                           event_.number.value,
                           what),
               "export it again");
}

Result<void> BundleSource::check_end() const {
  if (stream_ && expected_ <= stream_->last.value)
    return reader_.damaged(
        fmt::format("event {} of stream {} is missing", expected_, plain_text(stream_->name.text)));
  const bool as_announced = totals_.streams == head_.streams && totals_.events == head_.events &&
                            sessions_ == head_.sessions && totals_ == reader_.totals();
  if (!as_announced)
    return reader_.damaged("the bundle holds another number of events than it says");
  return ok();
}

}  // namespace respool
