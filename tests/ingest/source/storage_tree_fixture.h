#pragma once

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include <catch2/catch.hpp>

#include "ingest/source/storage_tree_source.h"
#include "query/store_reader.h"

#include "tests/support/oracle.h"
#include "tests/support/temp_store.h"

namespace respool::test {

// What a tree gave, with bytes of its own.
struct Delivered {
  std::string raw;
  Frame frame;
};

struct Reading {
  std::vector<Delivered> frames;
  std::vector<StorageProblem> problems;

  std::string what_of(const std::string& file) const {
    std::string what;
    for (const auto& problem : problems) {
      if (problem.file == file) what += problem.what + "\n";
    }
    return what;
  }
};

inline Reading read_tree(const fs::path& folder) {
  Reading reading;
  reading.problems = value(read_storage_tree(folder, [&](const Frame& frame) -> Result<void> {
    reading.frames.push_back({std::string(frame.raw), frame});
    return ok();
  }));
  return reading;
}

inline IngestCounts take_in(TempStore& store, const Reading& reading) {
  const auto recorder = value(Recorder::open(store.store()));
  Ingester ingester(*recorder, test_options());
  check(ingester.start("storage"));
  for (const auto& delivered : reading.frames) {
    Frame frame = delivered.frame;
    frame.raw = delivered.raw;
    check(ingester.take(frame));
  }
  check(recorder->finish());
  return ingester.counts();
}

inline fs::path real_tree() {
  return data_path("captures/1.1.65/store/storage");
}

inline std::vector<std::string> json_files(const fs::path& tree) {
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(tree)) {
    if (entry.is_regular_file() && entry.path().extension() == ".json")
      files.push_back(fs::relative(entry.path(), tree).string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// A copy of the real tree to damage.
class TreeCopy {
 public:
  TreeCopy() { fs::copy(real_tree(), path(), fs::copy_options::recursive); }
  fs::path path() const { return dir_.path() / "storage"; }

 private:
  TempDir dir_;
};

// Everything the facts of a store say, by identity, without keys or pointers.
inline std::map<std::string, std::string> contents(const TempStore& store) {
  std::map<std::string, std::string> all;
  for (const auto& id : store.session_ids()) {
    const auto facts = store.facts(id);
    if (facts.session.from_state) {
      fb::SessionRowT row;
      row.title = facts.session.title;
      row.directory = facts.session.directory;
      row.created_ms = facts.session.created_ms;
      row.updated_ms = facts.session.updated_ms;
      all[id] = content_of(row);
    }
    for (const auto& [message_id, message] : facts.messages) {
      if (message.row) all[message_id] = content_of(*message.row);
      for (const auto& [part_id, part] : message.parts)
        all[part_id] = content_of(part);
    }
  }
  return all;
}

inline std::string stem(const std::string& file) {
  return fs::path(file).stem().string();
}

// The first file of the tree that begins so.
inline std::string a_file(const std::string& beginning) {
  for (const auto& file : json_files(real_tree())) {
    if (file.starts_with(beginning)) return file;
  }
  throw std::runtime_error("no file " + beginning);
}

// The session a file of the real tree belongs to, read from its path or its text.
inline std::string session_of(const std::string& file) {
  const std::string bytes = file + read_file(real_tree() / file);
  const auto at = bytes.find("ses_");
  return at == std::string::npos ? "" : bytes.substr(at, 30);
}

}  // namespace respool::test
