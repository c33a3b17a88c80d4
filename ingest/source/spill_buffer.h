#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "schema/error.h"

namespace respool {

// Bytes that grow without a bound of their own: in memory at first, in an unlinked temporary file
// above kSpillBytes, so that a giant record passes through in bounded memory.
//
// Threads: one at a time. Ownership: view() lives until the next append or clear.
// Errors: Io where the temporary file cannot grow.
class SpillBuffer {
 public:
  static constexpr std::uint64_t kSpillBytes = 32ULL << 20;

  SpillBuffer() = default;
  ~SpillBuffer();
  SpillBuffer(const SpillBuffer&) = delete;
  SpillBuffer& operator=(const SpillBuffer&) = delete;

  Result<void> append(std::string_view bytes);
  Result<std::string_view> view();
  std::uint64_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  char front() const { return front_; }
  char back() const { return back_; }
  void clear();

 private:
  Result<void> spill();
  void unmap();

  std::string memory_;
  int file_ = -1;
  void* mapped_ = nullptr;
  std::uint64_t mapped_bytes_ = 0;
  std::uint64_t size_ = 0;
  char front_ = '\0';
  char back_ = '\0';
};

}  // namespace respool
