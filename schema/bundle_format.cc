#include "schema/bundle_format.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include <zstd.h>

#include <fmt/format.h>

#include "schema/assert.h"
#include "schema/ids.h"

namespace respool {
namespace {

constexpr int kCompressionLevel = 3;

// How a block is stored, its first byte.
constexpr char kCompressed = 'z';
constexpr char kPlain = 'p';  // compressing did not make it smaller
constexpr char kEnd = 'e';

constexpr std::size_t kBlockHeadBytes = 9;  // mark, plain length, stored length
constexpr std::size_t kChecksumBytes = 8;
constexpr std::size_t kTotalsBytes = 24;
constexpr std::size_t kEndBytes = kTotalsBytes + sizeof(Sha256);
// The first line is shorter than this, whatever the format's number.
constexpr std::size_t kMaxMarkBytes = 32;

std::string framed(char mark, std::size_t plain_bytes, std::string_view stored) {
  std::string frame(1, mark);
  frame += big_endian<4>(plain_bytes);
  frame += big_endian<4>(stored.size());
  frame += stored;
  return frame + big_endian<kChecksumBytes>(content_hash(frame));
}

std::string encode_totals(const BundleTotals& totals) {
  return big_endian<8>(totals.streams) + big_endian<8>(totals.events) +
         big_endian<8>(totals.raw_bytes);
}

}  // namespace

bool is_bundle_name(char kind, std::string_view name) {
  if (kind == static_cast<char>(StreamKind::Session)) return is_session_id(name);
  if (kind != static_cast<char>(StreamKind::Host)) return false;
  return !name.empty() && name.size() <= kMaxBundleNameBytes &&
         std::ranges::none_of(
             name, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; });
}

bool is_origin_id(std::string_view text) {
  constexpr std::size_t kDigits = 32;
  return text.size() == kDigits && std::ranges::all_of(text, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

std::uint64_t from_big_endian(std::string_view bytes) {
  std::uint64_t number = 0;
  for (const char byte : bytes)
    number = number << 8 | static_cast<unsigned char>(byte);
  return number;
}

// ---------------------------------------------------------------- writing

struct BundleWriter::Compressor {
  std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context{ZSTD_createCCtx(), &ZSTD_freeCCtx};
  std::string stored = std::string(ZSTD_compressBound(kBundleBlockBytes), '\0');
};

BundleWriter::BundleWriter(ByteSink sink)
    : sink_(std::move(sink)), compressor_(std::make_unique<Compressor>()) {
  RESPOOL_ASSERT(compressor_->context != nullptr);
}

BundleWriter::~BundleWriter() = default;

Result<void> BundleWriter::emit(std::string_view bytes) {
  digest_.update(bytes);
  written_ += bytes.size();
  return sink_(bytes);
}

Result<void> BundleWriter::begin() {
  return emit(fmt::format("{}{}\n", kBundleMark, kBundleFormat));
}

Result<void> BundleWriter::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::string_view piece = bytes.substr(0, kBundleBlockBytes - plain_.size());
    plain_ += piece;
    bytes.remove_prefix(piece.size());
    if (plain_.size() == kBundleBlockBytes) {
      RESPOOL_TRY(write_block());
    }
  }
  return ok();
}

Result<void> BundleWriter::write_block() {
  if (plain_.empty()) return ok();
  std::string& stored = compressor_->stored;
  const std::size_t size = ZSTD_compressCCtx(compressor_->context.get(),
                                             stored.data(),
                                             stored.size(),
                                             plain_.data(),
                                             plain_.size(),
                                             kCompressionLevel);
  const bool smaller = ZSTD_isError(size) == 0 && size < plain_.size();
  const std::string frame = smaller ? framed(kCompressed, plain_.size(), {stored.data(), size})
                                    : framed(kPlain, plain_.size(), plain_);
  plain_.clear();
  return emit(frame);
}

Result<void> BundleWriter::finish(const BundleTotals& totals) {
  RESPOOL_TRY(write_block());
  std::string payload = encode_totals(totals);
  digest_.update(payload);
  payload += as_bytes(digest_.finish());
  const std::string frame = framed(kEnd, 0, payload);
  written_ += frame.size();
  return sink_(frame);
}

// ---------------------------------------------------------------- reading

struct BundleReader::Decompressor {
  std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context{ZSTD_createDCtx(), &ZSTD_freeDCtx};
};

BundleReader::BundleReader(ByteSource source, std::string name)
    : source_(std::move(source)),
      name_(std::move(name)),
      decompressor_(std::make_unique<Decompressor>()) {
  RESPOOL_ASSERT(decompressor_->context != nullptr);
}

BundleReader::~BundleReader() = default;

Error BundleReader::damaged(std::string_view what) const {
  return Error(ErrorCode::Corruption,
               fmt::format("{}: byte {}: {}", name_, block_at_, what),
               "export it again; what stands before the damage is kept");
}

// Appends `size` bytes to `bytes`. False where the source ends first.
Result<bool> BundleReader::fill(std::string& bytes, std::size_t size) {
  const std::size_t before = bytes.size();
  bytes.resize(before + size);
  std::size_t done = 0;
  while (done < size) {
    RESPOOL_TRY(const std::size_t got, source_(bytes.data() + before + done, size - done));
    if (got == 0) break;
    done += got;
  }
  consumed_ += done;
  bytes.resize(before + done);
  return done == size;
}

Result<void> BundleReader::begin() {
  std::string line;
  while (!line.ends_with('\n') && line.size() < kMaxMarkBytes) {
    RESPOOL_TRY(const bool more, fill(line, 1));
    if (!more) return damaged("the bundle breaks off in its first line");
  }
  digest_.update(line);
  std::string_view number = line;
  std::uint32_t format = 0;
  if (!number.starts_with(kBundleMark) || !number.ends_with('\n'))
    return damaged("the first line does not name a bundle's format");
  number.remove_prefix(kBundleMark.size());
  number.remove_suffix(1);
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), format);
  if (error != std::errc{} || end != number.data() + number.size() || format == 0)
    return damaged("the first line does not name a bundle's format");
  if (format > kBundleFormat) {
    return Error(ErrorCode::UnsupportedFormat,
                 fmt::format("{}: the bundle has format {}, this build reads formats up to {}",
                             name_,
                             format,
                             kBundleFormat),
                 "upgrade respool here");
  }
  return ok();
}

Result<void> BundleReader::next_block() {
  block_at_ = consumed_;
  used_ = 0;
  plain_.clear();
  frame_.clear();
  RESPOOL_TRY(const bool begins, fill(frame_, kBlockHeadBytes));
  if (!begins) return damaged("the bundle breaks off");
  const char mark = frame_.front();
  const std::uint64_t plain_bytes = from_big_endian(std::string_view(frame_).substr(1, 4));
  const std::uint64_t stored_bytes = from_big_endian(std::string_view(frame_).substr(5, 4));
  const bool sizes_fit = (mark == kCompressed && stored_bytes > 0 && stored_bytes < plain_bytes) ||
                         (mark == kPlain && stored_bytes > 0 && stored_bytes == plain_bytes) ||
                         (mark == kEnd && stored_bytes == kEndBytes && plain_bytes == 0);
  if (!sizes_fit || plain_bytes > kBundleBlockBytes) return damaged("the block's head is damaged");
  RESPOOL_TRY(const bool whole, fill(frame_, stored_bytes + kChecksumBytes));
  if (!whole) return damaged("the bundle breaks off inside a block");
  const std::string_view checked =
      std::string_view(frame_).substr(0, kBlockHeadBytes + stored_bytes);
  if (content_hash(checked) != from_big_endian(std::string_view(frame_).substr(checked.size())))
    return damaged("the block's checksum differs");
  const std::string_view stored = checked.substr(kBlockHeadBytes);
  if (mark == kEnd) return check_end(stored);
  digest_.update(frame_);
  if (mark == kPlain) {
    plain_ = stored;
    return ok();
  }
  plain_.resize(plain_bytes);
  const std::size_t size = ZSTD_decompressDCtx(
      decompressor_->context.get(), plain_.data(), plain_.size(), stored.data(), stored.size());
  if (ZSTD_isError(size) == 0 && size == plain_bytes) return ok();
  plain_.clear();
  return damaged("the block does not unpack to the size it states");
}

Result<void> BundleReader::check_end(std::string_view payload) {
  digest_.update(payload.substr(0, kTotalsBytes));
  const Sha256 digest = digest_.finish();
  if (payload.substr(kTotalsBytes) != as_bytes(digest))
    return damaged("the bundle's digest differs: it was changed");
  std::string more;
  RESPOOL_TRY(const bool goes_on, fill(more, 1));
  if (goes_on) return damaged("bytes follow the bundle's end");
  totals_ = {from_big_endian(payload.substr(0, 8)),
             from_big_endian(payload.substr(8, 8)),
             from_big_endian(payload.substr(16, 8))};
  ended_ = true;
  return ok();
}

Result<std::string_view> BundleReader::read(std::size_t most) {
  if (used_ == plain_.size() && !ended_) {
    RESPOOL_TRY(next_block());
  }
  const std::string_view bytes = std::string_view(plain_).substr(used_, most);
  used_ += bytes.size();
  return bytes;
}

Result<void> BundleReader::read_exactly(std::size_t size, std::string& bytes) {
  bytes.clear();
  while (bytes.size() < size) {
    RESPOOL_TRY(const std::string_view piece, read(size - bytes.size()));
    if (piece.empty()) return damaged("the bundle ends inside a record");
    bytes += piece;
  }
  return ok();
}

}  // namespace respool
