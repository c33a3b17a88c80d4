#include "ingest/opencode/runtime.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <system_error>

#include <unistd.h>

#include <fmt/format.h>
#include <sys/stat.h>

#include "ingest/process/child_process.h"
#include "ingest/source/database_snapshot.h"

namespace respool {
namespace {

namespace fs = std::filesystem;

constexpr auto kTestedVersions = std::to_array<std::string_view>({"1.17.11", "1.18.29", "1.18.33"});

bool is_program(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && ::access(path.c_str(), X_OK) == 0;
}

// "1.18.33" of what the program printed.
std::string version_in(const std::string& output) {
  const auto begin = output.find_first_of("0123456789");
  if (begin == std::string::npos) return {};
  const auto end = output.find_first_of(" \r\n\t", begin);
  return output.substr(begin, std::min(end, output.size()) - begin);
}

// A program is the same while its path, size and time are.
std::string fingerprint(const fs::path& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return {};
  return fmt::format(
      "{} {} {}.{}", path.string(), info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
}

std::string remembered_version(const fs::path& cache, const std::string& program) {
  std::ifstream file(cache / "opencode-version");
  std::string known, version;
  std::getline(file, known);
  std::getline(file, version);
  return known == program ? version : "";
}

void remember_version(const fs::path& cache,
                      const std::string& program,
                      const std::string& version) {
  std::error_code error;
  fs::create_directories(cache, error);
  const auto temporary = cache / fmt::format("opencode-version.{}", ::getpid());
  {
    std::ofstream file(temporary);
    file << program << '\n' << version << '\n';
  }
  fs::rename(temporary, cache / "opencode-version", error);
}

std::string trimmed(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r'))
    text.pop_back();
  return text;
}

// "https://user:token@host/path" without what stands before the "@".
std::string without_credentials(std::string url) {
  const auto scheme = url.find("://");
  if (scheme == std::string::npos) return url;
  const auto host = scheme + 3;
  const auto path = url.find('/', host);
  const auto at = url.rfind('@', path);
  if (at == std::string::npos || at < host) return url;
  return url.erase(host, at + 1 - host);
}

}  // namespace

std::vector<fs::path> usual_places(const std::vector<std::string>& environment) {
  const fs::path home = variable(environment, "HOME");
  std::vector<fs::path> places;
  for (const auto* name : {"OPENCODE_INSTALL_DIR", "XDG_BIN_DIR", "NVM_BIN"}) {
    if (const auto folder = variable(environment, name); !folder.empty())
      places.emplace_back(folder);
  }
  for (const auto* name : {"npm_config_prefix", "NPM_CONFIG_PREFIX", "PREFIX"}) {
    if (const auto prefix = variable(environment, name); !prefix.empty())
      places.push_back(fs::path(prefix) / "bin");
  }
  for (const auto* folder : {".opencode/bin",
                             "bin",
                             ".local/bin",
                             ".npm-global/bin",
                             ".npm/bin",
                             ".bun/bin",
                             ".volta/bin",
                             ".asdf/shims",
                             ".local/share/mise/shims",
                             ".local/share/pnpm"})
    places.push_back(home / folder);
  std::error_code error;
  std::vector<fs::path> node_versions;
  for (fs::directory_iterator entry(home / ".nvm/versions/node", error), end;
       !error && entry != end;
       entry.increment(error))
    node_versions.push_back(entry->path() / "bin");
  std::sort(node_versions.rbegin(), node_versions.rend());
  places.insert(places.end(), node_versions.begin(), node_versions.end());
  for (const auto* folder :
       {"/usr/local/bin", "/usr/bin", "/bin", "/opt/homebrew/bin", "/snap/bin"})
    places.emplace_back(folder);
  return places;
}

std::optional<fs::path> find_opencode(const std::vector<std::string>& environment) {
  if (const auto given = variable(environment, "RESPOOL_OPENCODE"); !given.empty())
    return is_program(given) ? std::optional<fs::path>(given) : std::nullopt;
  std::vector<fs::path> places;
  std::string path = variable(environment, "PATH");
  for (std::size_t begin = 0; begin < path.size();) {
    const auto end = std::min(path.find(':', begin), path.size());
    if (end > begin) places.emplace_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  const auto usual = usual_places(environment);
  places.insert(places.end(), usual.begin(), usual.end());
  for (const auto& place : places) {
    if (is_program(place / "opencode")) return fs::absolute(place / "opencode");
  }
  return std::nullopt;
}

Result<OpenCodeRuntime> opencode_runtime(const std::vector<std::string>& environment,
                                         const fs::path& cache) {
  const auto path = find_opencode(environment);
  if (const auto named = variable(environment, "RESPOOL_OPENCODE"); !path && !named.empty()) {
    return Error(ErrorCode::NotFound,
                 fmt::format("RESPOOL_OPENCODE names {}, which is no program", named),
                 "correct it, or unset it to look in the usual places");
  }
  if (!path) {
    return Error(ErrorCode::NotFound,
                 "OpenCode is not on this machine: it is neither on PATH nor in the folders its "
                 "installer, npm and other package managers use",
                 "npm install -g opencode-ai, or name the program in RESPOOL_OPENCODE");
  }
  OpenCodeRuntime runtime{.path = *path, .version = {}, .tested = false};
  const std::string program = fingerprint(*path);
  runtime.version = remembered_version(cache, program);
  if (runtime.version.empty()) {
    constexpr std::uint64_t kVersionMs = 30'000;
    const auto output = output_of({.program = path->string(),
                                   .arguments = {"--version"},
                                   .directory = {},
                                   .environment = environment,
                                   .input = {}},
                                  kVersionMs);
    if (output) runtime.version = version_in(*output);
    if (!runtime.version.empty()) remember_version(cache, program, runtime.version);
  }
  runtime.tested = std::ranges::find(kTestedVersions, runtime.version) != kTestedVersions.end();
  return runtime;
}

fs::path opencode_data_folder(const std::vector<std::string>& environment) {
  if (const auto data = variable(environment, "XDG_DATA_HOME"); !data.empty())
    return fs::path(data) / "opencode";
  return fs::path(variable(environment, "HOME")) / ".local" / "share" / "opencode";
}

std::vector<fs::path> opencode_databases(const std::vector<std::string>& environment) {
  std::vector<fs::path> found;
  const auto data = opencode_data_folder(environment);
  const std::string named = variable(environment, "OPENCODE_DB");
  std::error_code error;
  // A relative name is one of the data folder's; an absolute one stays as it is.
  if (!named.empty() && named != ":memory:" && fs::is_regular_file(data / named, error))
    found.push_back(data / named);
  for (const auto& path : databases_in(data)) {
    if (std::ranges::find(found, path) == found.end()) found.push_back(path);
  }
  return found;
}

std::optional<GitState> git_state(const fs::path& directory,
                                  const std::vector<std::string>& environment) {
  std::vector<std::string> variables = environment;
  set_variable(variables, "GIT_OPTIONAL_LOCKS", "0");  // reading must not write the index
  const auto ask = [&](std::vector<std::string> words) -> std::optional<std::string> {
    constexpr std::uint64_t kGitMs = 2000;
    std::vector<std::string> arguments = {"git", "-C", directory.string()};
    arguments.insert(arguments.end(), words.begin(), words.end());
    auto output = output_of({.program = "/usr/bin/env",
                             .arguments = arguments,
                             .directory = {},
                             .environment = variables,
                             .input = {}},
                            kGitMs);
    if (output) output = trimmed(*output);
    return output;
  };
  std::error_code error;
  bool in_repository = false;
  for (fs::path at = directory; !in_repository; at = at.parent_path()) {
    in_repository = fs::exists(at / ".git", error);
    if (at == at.parent_path()) break;
  }
  if (!in_repository) return std::nullopt;
  GitState git;
  git.commit = ask({"rev-parse", "HEAD"}).value_or("");
  git.branch = ask({"symbolic-ref", "--short", "-q", "HEAD"}).value_or("");
  git.remote = without_credentials(ask({"config", "--get", "remote.origin.url"}).value_or(""));
  git.dirty = !ask({"status", "--porcelain", "-uno"}).value_or("").empty();
  return git;
}

std::string canonical_directory(const fs::path& directory) {
  std::error_code error;
  fs::path canonical = fs::weakly_canonical(fs::absolute(directory, error), error);
  if (error) canonical = fs::absolute(directory).lexically_normal();
  std::string text = canonical.string();
  while (text.size() > 1 && text.back() == '/')
    text.pop_back();
  // "c:\work" and "C:\work" are one folder.
  if (text.size() > 1 && text[1] == ':' && text[0] >= 'a' && text[0] <= 'z')
    text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

}  // namespace respool
