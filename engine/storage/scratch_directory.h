#pragma once

#include <filesystem>

namespace respool {

// A folder of its own under the system's temporary one, gone with the object and all in it.
//
// Threads: any. Errors: where none can be made path() is empty, and whoever opens it will say so.
class ScratchDirectory {
 public:
  ScratchDirectory();
  ~ScratchDirectory();
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace respool
