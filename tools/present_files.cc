#include "tools/present_files.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "schema/digest.h"

namespace respool {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kMaxFileBytes = 64ULL << 20;

fs::path place_of(const std::string& path, const std::string& old_directory, const fs::path& now) {
  if (path == old_directory) return now;
  if (!old_directory.empty() && path.starts_with(old_directory + "/"))
    return now / path.substr(old_directory.size() + 1);
  return now / path;  // an absolute path stands for itself
}

}  // namespace

PresentFiles look_at_files(const Transcript& transcript, const std::string& directory) {
  PresentFiles present;
  for (const auto& file : touched_files(transcript)) {
    const fs::path place = place_of(file.path, transcript.directory, directory);
    std::error_code error;
    const auto status = fs::status(place, error);
    if (status.type() == fs::file_type::not_found) {
      present[file.path] = std::nullopt;
      continue;
    }
    if (!fs::is_regular_file(status) || fs::file_size(place, error) > kMaxFileBytes || error)
      continue;
    std::ifstream stream(place, std::ios::binary);
    const std::string content(std::istreambuf_iterator<char>(stream), {});
    if (stream.bad() || !stream.is_open()) continue;
    present[file.path] = to_hex(as_bytes(sha256(content)));
  }
  return present;
}

}  // namespace respool
