#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "tests/support/process.h"
#include "tests/support/temp_store.h"

namespace respool::test {

inline const std::string kPlain = data_path("captures/1.18.33/store/export-plain.json").string();

// A home of its own, with a store in it.
class Home {
 public:
  ProcessResult run(const std::vector<std::string>& arguments,
                    const std::string& input = {}) const {
    return run_respool(arguments,
                       {{"HOME", dir_.path().string()},
                        {"TZ", "UTC"},
                        {"RESPOOL_HOST", "here"},
                        {"PATH", "/usr/bin:/bin"}},
                       input,
                       dir_.path().string());
  }
  const fs::path& path() const { return dir_.path(); }

 private:
  TempDir dir_;
};

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  std::string line;
  while (std::getline(stream, line))
    lines.push_back(line);
  return lines;
}

}  // namespace respool::test
