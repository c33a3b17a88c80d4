#include "tools/lease.h"

#include <filesystem>
#include <fstream>
#include <system_error>

#include <unistd.h>

#include <fmt/format.h>

#include "schema/digest.h"

#include "engine/storage/owner_file.h"

namespace respool {

Result<Descriptor> take_lease(const Context& context, const std::string& session) {
  if (session.empty()) return Descriptor(-1);
  // Named by digest: a session's id is somebody else's text.
  constexpr std::size_t kDigits = 32;
  const auto folder =
      context.state_folder() / "leases" / to_hex(as_bytes(sha256(session))).substr(0, kDigits);
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    return Error(ErrorCode::Io,
                 fmt::format("{} cannot be made: {}", folder.string(), error.message()),
                 "set XDG_STATE_HOME to a folder that can be written");
  }
  const auto file =
      take_owner_file(folder,
                      std::chrono::milliseconds(0),
                      fmt::format("process {} of host {}", ::getpid(), context.host()));
  if (file) return Descriptor(file.value());
  if (file.error().code() != ErrorCode::StoreBusy) return file.error();
  std::ifstream owner(folder / "owner");
  std::string line;
  std::getline(owner, line);
  return Error(
      ErrorCode::StoreBusy,
      fmt::format(
          "session {} is being continued by {}", session, line.empty() ? "another process" : line),
      "wait for its end, or fork the session");
}

}  // namespace respool
