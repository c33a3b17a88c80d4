#pragma once

#include <chrono>
#include <cstdint>

#include "ingest/ingester.h"

#include "tools/context.h"

namespace respool {

// Redraws one line on a terminal, at most ten times a second.
class Progress {
 public:
  explicit Progress(bool shown);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void update(std::uint64_t bytes);

 private:
  bool shown_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point last_;
};

void add_counts(IngestCounts& sum, const IngestCounts& counts);

// What `ingest` and `sync` say at their end.
void print_counts(const Context& context, const IngestCounts& counts, double seconds);

}  // namespace respool
