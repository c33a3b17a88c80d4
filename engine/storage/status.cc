#include "engine/storage/status.h"

#include <fmt/format.h>
#include <rocksdb/status.h>

namespace respool {

Error from_rocksdb(const rocksdb::Status& status, std::string_view place) {
  const std::string message = fmt::format("{}: {}", place, status.ToString());
  if (status.IsCorruption()) {
    return {ErrorCode::Corruption,
            message,
            "run \"respool verify\" and restore the named file from a backup"};
  }
  if (status.IsNotFound() || status.IsPathNotFound()) return {ErrorCode::NotFound, message};
  if (status.IsNoSpace()) return {ErrorCode::Io, message, "free some space on the store's disk"};
  if (status.IsBusy() || status.IsTryAgain()) return {ErrorCode::StoreBusy, message, "try again"};
  return {ErrorCode::Io, message, "check the disk and the permissions of the store's folder"};
}

}  // namespace respool
