#include "tests/support/files.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "bench/corpus/corpus.h"

namespace respool::test {

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path.string());
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void write_file(const fs::path& path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!file) throw std::runtime_error("cannot write " + path.string());
}

std::string corpus_file(const std::string& name) {
  return bench::unpack(data_path("corpus/" + name + ".zst").string());
}

fs::path data_path(const std::string& relative) {
  return fs::path(RESPOOL_TEST_DATA) / relative;
}

std::vector<fs::path> captures(const std::string& folder, const std::string& ending) {
  std::vector<fs::path> found;
  for (const auto& version : fs::directory_iterator(data_path("captures"))) {
    const auto place = version.path() / folder;
    if (!fs::exists(place)) continue;
    for (const auto& entry : fs::directory_iterator(place)) {
      if (entry.path().filename().string().ends_with(ending)) found.push_back(entry.path());
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<fs::path> serve_captures() {
  std::vector<fs::path> found;
  for (const auto& version : fs::directory_iterator(data_path("captures"))) {
    const auto place = version.path() / "serve";
    if (!fs::exists(place)) continue;
    for (const auto& entry : fs::directory_iterator(place))
      found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<std::string> delivered_lines(const std::string& bytes) {
  std::vector<std::string> lines;
  std::size_t at = 0;
  while (at < bytes.size()) {
    const std::size_t end = std::min(bytes.find('\n', at), bytes.size());
    std::string line = bytes.substr(at, end - at);
    at = end + 1;
    if (line.starts_with("data: ")) line = line.substr(6);
    if (line.starts_with('{')) lines.push_back(line);
  }
  return lines;
}

std::string short_name(const fs::path& path) {
  return fs::relative(path, data_path("captures")).string();
}

}  // namespace respool::test
