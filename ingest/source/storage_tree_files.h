#pragma once

// Internal to this folder: the files of a storage tree, and what their bytes are.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schema/descriptor.h"
#include "schema/opencode/record.h"

namespace respool::storage_tree {

struct StorageFile {
  std::string path;  // relative
  Shape shape = Shape::ExportOther;
  std::string id;       // its name without the ending
  std::string session;  // as far as the path tells
  std::string message;  // messages and parts
  std::string name;     // of ExportOther
  std::int64_t modified_ms = 0;
  std::uint64_t bytes = 0;
  std::string unreadable;  // why it cannot be read, "" where nothing is known against it
};

// Every file below an open folder, in any order. Links are listed as unreadable, never followed.
std::vector<StorageFile> list_files(const Descriptor& root);

// Session by session, each message before its parts, what no session claims at the end.
bool comes_before(const StorageFile& a, const StorageFile& b);

// OpenCode removes messages and parts when it reverts: no damage, but worth a word.
inline constexpr std::string_view kGone = "gone before it was read";

// Reads a file whole into `bytes`; says why not where it cannot.
std::string read_whole(const Descriptor& root, const std::string& path, std::string& bytes);

struct Verdict {
  std::string what = {};  // "" where nothing is wrong
  bool readable = true;   // under the shape its place gives it
  bool truncated = false;
};

// `record` is what the decoder made of it, by its shape.
Verdict judge(std::string_view raw, Shape shape, const Record& record);

// What contradicts the file's place, "" where nothing does.
std::string_view misplaced(const StorageFile& file, const Record& record);

}  // namespace respool::storage_tree
