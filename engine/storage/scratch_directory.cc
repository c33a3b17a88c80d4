#include "engine/storage/scratch_directory.h"

#include <string>
#include <system_error>

#include <stdlib.h>

namespace respool {

ScratchDirectory::ScratchDirectory() {
  std::error_code error;
  std::string pattern = (std::filesystem::temp_directory_path(error) / "respool-XXXXXX").string();
  if (!error && ::mkdtemp(pattern.data()) != nullptr) path_ = pattern;
}

ScratchDirectory::~ScratchDirectory() {
  std::error_code error;
  if (!path_.empty()) std::filesystem::remove_all(path_, error);
}

}  // namespace respool
