#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "engine/storage/scratch_directory.h"

namespace respool::test {

namespace fs = std::filesystem;

using TempDir = ScratchDirectory;

std::string read_file(const fs::path& path);
void write_file(const fs::path& path, std::string_view bytes);
// The unpacked bytes of tests/data/corpus/NAME.zst.
std::string corpus_file(const std::string& name);

fs::path data_path(const std::string& relative);
// All captures of one kind over all versions, sorted: files under captures/*/FOLDER that end so.
std::vector<fs::path> captures(const std::string& folder, const std::string& ending);
// The folders captures/*/serve/*.
std::vector<fs::path> serve_captures();

// What a source delivered, by its framing alone: the lines of a run, the data of an event stream.
std::vector<std::string> delivered_lines(const std::string& bytes);

// "1.18.33/run/tool-bash.ndjson": what a failing check should name.
std::string short_name(const fs::path& path);

}  // namespace respool::test
