#include "ingest/source/spill_buffer.h"

#include <cerrno>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>
#include <sys/mman.h>

namespace respool {
namespace {

Error spill_error(std::string_view action) {
  return Error(
      ErrorCode::Io,
      fmt::format("{} a temporary file: {}", action, std::generic_category().message(errno)),
      "free some space, or set TMPDIR");
}

Result<void> write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return spill_error("write");
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return ok();
}

}  // namespace

SpillBuffer::~SpillBuffer() {
  clear();
}

Result<void> SpillBuffer::append(std::string_view bytes) {
  if (bytes.empty()) return ok();
  unmap();
  if (size_ == 0) front_ = bytes.front();
  back_ = bytes.back();
  size_ += bytes.size();
  if (file_ < 0 && size_ <= kSpillBytes) {
    memory_ += bytes;
    return ok();
  }
  RESPOOL_TRY(spill());
  return write_all(file_, bytes);
}

Result<void> SpillBuffer::spill() {
  if (file_ >= 0) return ok();
  std::error_code error;
  const auto folder = std::filesystem::temp_directory_path(error);
  file_ = ::open(error ? "/tmp" : folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (file_ < 0) return spill_error("make");
  RESPOOL_TRY(write_all(file_, memory_));
  memory_.clear();
  memory_.shrink_to_fit();
  return ok();
}

Result<std::string_view> SpillBuffer::view() {
  if (file_ < 0) return std::string_view(memory_);
  if (mapped_ == nullptr) {
    void* mapped = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file_, 0);
    if (mapped == MAP_FAILED) return spill_error("map");
    mapped_ = mapped;
    mapped_bytes_ = size_;
  }
  return std::string_view(static_cast<const char*>(mapped_), mapped_bytes_);
}

void SpillBuffer::unmap() {
  if (mapped_ != nullptr) ::munmap(mapped_, mapped_bytes_);
  mapped_ = nullptr;
}

void SpillBuffer::clear() {
  unmap();
  if (file_ >= 0) ::close(file_);
  file_ = -1;
  memory_.clear();
  size_ = 0;
}

}  // namespace respool
