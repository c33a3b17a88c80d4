#pragma once

#include <string>
#include <vector>

namespace respool::bench {

// The unpacked bytes of a file packed with zstd.
std::string unpack(const std::string& path);

// A body of events to measure on: what GET /event delivered, one event a string.
struct Corpus {
  std::vector<std::string> events;
  std::size_t bytes = 0;
};

// "small" (a seeded few hundred events, for the tests), "mixed" (seeded, realistic sizes) or
// "recorded" (the recordings that ship with the tests). Made once and kept.
const Corpus& corpus(const std::string& name);

}  // namespace respool::bench
