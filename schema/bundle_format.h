#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "schema/bundle_generated.h"
#include "schema/codec.h"
#include "schema/digest.h"
#include "schema/error.h"

// A bundle carries streams from one store to another. It is a line that names the format, then
// compressed blocks, then a block that ends it. Inside the blocks, wherever their borders fall, lie
// records: one that says who wrote it, and for each stream one that names it and its events.
// schema/FORMAT.md gives the bytes.
namespace respool {

// A reader refuses a greater one.
inline constexpr std::uint32_t kBundleFormat = 1;
// How every bundle begins; its format's number and a line end follow.
inline constexpr std::string_view kBundleMark = "respool bundle ";

// Bytes of a block before it is compressed: what a reader holds, whatever a bundle claims.
inline constexpr std::size_t kBundleBlockBytes = 1 << 20;
// The rows at the head of a bundle and of a stream.
inline constexpr std::size_t kMaxBundleRowBytes = 64 << 10;
// An event's header: its wire type may be as long as a record that is decoded.
inline constexpr std::size_t kMaxBundleHeaderBytes = 66 << 20;
// One event's raw bytes. They pass in pieces; this only bounds what a hostile bundle may unpack.
inline constexpr std::uint64_t kMaxBundleRawBytes = 16ULL << 30;
// The name of a host's stream. Sessions' names are shorter (is_session_id).
inline constexpr std::size_t kMaxBundleNameBytes = 4096;

// What a record in the blocks is, its first byte.
enum class BundleRecord : char {
  Head = 'B',    // row length (4), BundleHead; the first record, and once
  Stream = 'S',  // row length (4), BundleStream
  Event = 'E',   // header length (4), raw length (8), EventHeader, raw bytes
};

// How much a bundle holds, said again at its end.
struct BundleTotals {
  std::uint64_t streams = 0;
  std::uint64_t events = 0;
  std::uint64_t raw_bytes = 0;
  friend bool operator==(const BundleTotals&, const BundleTotals&) = default;
};

// Takes bytes in order.
using ByteSink = std::function<Result<void>(std::string_view)>;
// Fills a buffer from its front and returns how far: 0 only at the end.
using ByteSource = std::function<Result<std::size_t>(char*, std::size_t)>;

// True for the stream names that a bundle may carry.
bool is_bundle_name(char kind, std::string_view name);
// True for what names an origin: 32 hex digits.
bool is_origin_id(std::string_view text);

// Big-endian numbers of `Bytes` bytes.
template <std::size_t Bytes>
std::string big_endian(std::uint64_t number) {
  std::string bytes(Bytes, '\0');
  for (std::size_t i = Bytes; i-- > 0; number >>= 8)
    bytes[i] = static_cast<char>(number & 255);
  return bytes;
}
std::uint64_t from_big_endian(std::string_view bytes);

// Cuts records into blocks and hands them to a sink. Equal writes give equal bytes.
//
// Threads: one at a time. Errors: the sink's. Memory: two blocks.
class BundleWriter {
 public:
  explicit BundleWriter(ByteSink sink);
  ~BundleWriter();
  BundleWriter(const BundleWriter&) = delete;
  BundleWriter& operator=(const BundleWriter&) = delete;

  // Writes the line that names the format; before anything else.
  Result<void> begin();
  Result<void> write(std::string_view bytes);
  // Writes what is left and the end.
  Result<void> finish(const BundleTotals& totals);

  std::uint64_t bytes_written() const { return written_; }

 private:
  struct Compressor;
  Result<void> emit(std::string_view bytes);
  Result<void> write_block();

  ByteSink sink_;
  std::unique_ptr<Compressor> compressor_;
  std::string plain_;
  Sha256Hasher digest_;
  std::uint64_t written_ = 0;
};

// Gives back what a BundleWriter was given, each block checked before anything of it is seen.
//
// Threads:   one at a time.
// Ownership: what read() returns lives until the next call.
// Errors:    Corruption names the byte where the bundle is damaged or breaks off;
//            UnsupportedFormat names both formats; the source's own.
// Memory:    two blocks.
class BundleReader {
 public:
  // `name` is what messages call the bundle.
  BundleReader(ByteSource source, std::string name);
  ~BundleReader();
  BundleReader(const BundleReader&) = delete;
  BundleReader& operator=(const BundleReader&) = delete;

  // Reads the line that names the format; before anything else.
  Result<void> begin();
  // The next bytes, at most `most` of them and at least one; nothing at the bundle's end, which was
  // checked then.
  Result<std::string_view> read(std::size_t most);
  // Exactly `size` bytes into `bytes`. Corruption where the bundle ends first.
  Result<void> read_exactly(std::size_t size, std::string& bytes);

  // What the end says; only after read() returned nothing.
  const BundleTotals& totals() const { return totals_; }
  // Where in the bundle the block begins that is being read.
  std::uint64_t offset() const { return block_at_; }
  Error damaged(std::string_view what) const;

 private:
  struct Decompressor;
  Result<bool> fill(std::string& bytes, std::size_t size);
  Result<void> next_block();
  Result<void> check_end(std::string_view payload);

  ByteSource source_;
  std::string name_;
  std::unique_ptr<Decompressor> decompressor_;
  std::string frame_;  // the block as it lies in the bundle
  std::string plain_;  // and what it holds
  std::size_t used_ = 0;
  Sha256Hasher digest_;
  std::uint64_t consumed_ = 0;
  std::uint64_t block_at_ = 0;
  bool ended_ = false;
  BundleTotals totals_;
};

}  // namespace respool
