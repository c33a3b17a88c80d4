#include "ingest/opencode/plugin.h"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <system_error>

#include <unistd.h>

#include <fmt/format.h>
#include <sys/stat.h>

#include "schema/opencode/json_text.h"

#include "engine/spool/spool_file.h"

#include "ingest/opencode/plugin_source.h"
#include "ingest/process/child_process.h"

namespace respool {
namespace {

namespace fs = std::filesystem;

// The first words of the file: what tells ours from somebody else's of the same name.
constexpr std::string_view kOurs = "// respool's recorder inside OpenCode";

std::string read_text(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

Error io_error(const fs::path& path, std::string_view action) {
  return Error(
      ErrorCode::Io,
      fmt::format("{} {}: {}", action, path.string(), std::generic_category().message(errno)),
      "check the permissions of the folder");
}

// Written beside its place and renamed, so that OpenCode never reads half of it.
Result<void> write_text(const fs::path& path, const std::string& text) {
  const fs::path temporary = path.string() + ".incomplete";
  std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file || ::rename(temporary.c_str(), path.c_str()) != 0) return io_error(path, "write");
  return ok();
}

void fill_in(std::string& text, std::string_view placeholder, const std::string& json) {
  const std::string quoted = fmt::format("\"{}\"", placeholder);
  const auto at = text.find(quoted);
  if (at != std::string::npos) text.replace(at, quoted.size(), json);
}

// The folders that are not there yet, the innermost first.
std::vector<fs::path> absent_folders(fs::path folder) {
  std::vector<fs::path> absent;
  std::error_code error;
  for (; !fs::exists(folder, error) && folder.has_relative_path(); folder = folder.parent_path())
    absent.push_back(folder);
  return absent;
}

std::int64_t boot_ms() {
  std::ifstream file("/proc/stat");
  std::string word;
  std::int64_t seconds = 0;
  while (file >> word) {
    if (word == "btime" && file >> seconds) return seconds * 1000;
  }
  return 0;
}

}  // namespace

std::string_view plugin_source() {
  return kPluginSource;
}

std::string plugin_text(const PluginSettings& settings) {
  std::string text(plugin_source());
  std::string exclude = "[";
  for (const auto& directory : settings.exclude) {
    if (exclude.size() > 1) exclude.push_back(',');
    append_json_string(exclude, directory);
  }
  fill_in(text, "@SPOOL@", json_string(settings.spool.string()));
  fill_in(text, "@FALLBACK@", json_string(settings.fallback.string()));
  fill_in(text, "@EXCLUDE@", exclude + "]");
  fill_in(text, "@HOST@", json_string(settings.host));
  fill_in(text, "@PAUSE@", json_string(settings.pause.string()));
  return text;
}

fs::path plugin_file(const std::vector<std::string>& environment) {
  const std::string config = variable(environment, "XDG_CONFIG_HOME");
  const fs::path home =
      config.empty() ? fs::path(variable(environment, "HOME")) / ".config" : fs::path(config);
  return home / "opencode" / "plugins" / "respool.js";
}

Result<void> install_plugin(const fs::path& file,
                            const PluginSettings& settings,
                            const fs::path& made) {
  std::error_code error;
  if (fs::exists(file, error) && !read_text(file).starts_with(kOurs)) {
    return Error(ErrorCode::InvalidArgument,
                 fmt::format("{} is not respool's", file.string()),
                 "rename it, then install again");
  }
  const auto absent = absent_folders(file.parent_path());
  fs::create_directories(file.parent_path(), error);
  if (error) {
    errno = error.value();
    return io_error(file.parent_path(), "make");
  }
  if (!absent.empty()) {
    std::string list;
    for (const auto& folder : absent)
      list += folder.string() + "\n";
    fs::create_directories(made.parent_path(), error);
    RESPOOL_TRY(write_text(made, list));
  }
  return write_text(file, plugin_text(settings));
}

Result<bool> remove_plugin(const fs::path& file, const fs::path& made) {
  std::error_code error;
  if (!fs::exists(file, error)) return false;
  if (!read_text(file).starts_with(kOurs)) {
    return Error(ErrorCode::InvalidArgument,
                 fmt::format("{} is not respool's", file.string()),
                 "remove it yourself");
  }
  if (::unlink(file.c_str()) != 0) return io_error(file, "remove");
  std::ifstream list(made);
  // Innermost first; what others put there meanwhile keeps its folder.
  for (std::string folder; std::getline(list, folder);) {
    if (::rmdir(folder.c_str()) != 0) break;
  }
  ::unlink(made.c_str());
  return true;
}

std::vector<OpenCodeProcess> running_opencodes() {
  std::vector<OpenCodeProcess> found;
  const std::int64_t boot = boot_ms();
  std::error_code error;
  for (fs::directory_iterator entry("/proc", error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string pid = entry->path().filename().string();
    if (pid.find_first_not_of("0123456789") != std::string::npos) continue;
    struct stat info {};
    if (::stat(entry->path().c_str(), &info) != 0 || info.st_uid != ::getuid()) continue;
    std::error_code gone;
    const std::string program = fs::read_symlink(entry->path() / "exe", gone).filename().string();
    if (program != "opencode" && program != "opencode.exe") continue;
    const std::uint64_t number = std::stoull(pid);
    const auto ticks = static_cast<std::int64_t>(process_start_time(number).value_or(0));
    found.push_back({number, boot + ticks * 1000 / ::sysconf(_SC_CLK_TCK)});
  }
  return found;
}

}  // namespace respool
