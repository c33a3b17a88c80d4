#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "schema/error.h"

namespace respool {

// The OpenCode program on this machine.
struct OpenCodeRuntime {
  std::filesystem::path path;
  std::string version;  // "" where it does not say
  bool tested = false;  // a version this build's tests ran against
};

// Where OpenCode may be: RESPOOL_OPENCODE, PATH, the installer's folder, npm's and other package
// managers' global folders, so that it is found where a service manager gives a bare PATH too.
std::optional<std::filesystem::path> find_opencode(const std::vector<std::string>& environment);
// The places searched beside PATH, for messages.
std::vector<std::filesystem::path> usual_places(const std::vector<std::string>& environment);

// Finds it and asks its version, which is remembered in `cache` until the program changes.
// NotFound says where was looked.
Result<OpenCodeRuntime> opencode_runtime(const std::vector<std::string>& environment,
                                         const std::filesystem::path& cache);

// OpenCode's databases on this machine: $OPENCODE_DB, and opencode.db and opencode-CHANNEL.db in
// its data folder.
std::vector<std::filesystem::path> opencode_databases(const std::vector<std::string>& environment);
std::filesystem::path opencode_data_folder(const std::vector<std::string>& environment);

// The repository a folder is in, as bindings tell it. Empty texts where it is in none.
struct GitState {
  std::string remote;  // of "origin", without credentials
  std::string branch;
  std::string commit;
  bool dirty = false;
};
std::optional<GitState> git_state(const std::filesystem::path& directory,
                                  const std::vector<std::string>& environment);

// A directory as bindings keep it: absolute, without symbolic links, "." and ".." or a slash at the
// end. One that is gone keeps what can be resolved.
std::string canonical_directory(const std::filesystem::path& directory);

}  // namespace respool
