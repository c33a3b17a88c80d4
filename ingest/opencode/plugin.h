#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "schema/error.h"

namespace respool {

// What the installed plugin is told.
struct PluginSettings {
  std::filesystem::path spool;       // where recordings go
  std::filesystem::path fallback;    // where that disk is full
  std::vector<std::string> exclude;  // directories that are not captured
  std::string host;
  std::filesystem::path pause;  // while this file exists nothing is captured
};

// The plugin's source, as it is built in, and with the settings filled in.
std::string_view plugin_source();
std::string plugin_text(const PluginSettings& settings);

// Where OpenCode of this user looks for plugins.
std::filesystem::path plugin_file(const std::vector<std::string>& environment);

// Puts the plugin there, and takes it away again with the folders that were made for it, so that
// the user's configuration is what it was. `made` is a file of ours that remembers them.
//
// Errors: Io; InvalidArgument where a file of that name is not ours.
Result<void> install_plugin(const std::filesystem::path& file,
                            const PluginSettings& settings,
                            const std::filesystem::path& made);
// False where it was not installed.
Result<bool> remove_plugin(const std::filesystem::path& file, const std::filesystem::path& made);

// A running OpenCode of this user.
struct OpenCodeProcess {
  std::uint64_t pid = 0;
  std::int64_t started_ms = 0;
};
std::vector<OpenCodeProcess> running_opencodes();

}  // namespace respool
