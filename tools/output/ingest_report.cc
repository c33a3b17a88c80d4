#include "tools/output/ingest_report.h"

#include <unistd.h>

#include <fmt/format.h>

#include "tools/output/json_writer.h"
#include "tools/output/table.h"

namespace respool {

Progress::Progress(bool shown) : shown_(shown && ::isatty(STDERR_FILENO) != 0) {}

Progress::~Progress() {
  if (drawn_) fmt::print(stderr, "\r\x1b[K");
}

void Progress::update(std::uint64_t bytes) {
  if (!shown_) return;
  const auto now = std::chrono::steady_clock::now();
  constexpr std::chrono::milliseconds kPause{100};
  if (drawn_ && now - last_ < kPause) return;
  last_ = now;
  drawn_ = true;
  fmt::print(stderr, "\r{:.1f} MB read", static_cast<double>(bytes) / 1e6);
}

void add_counts(IngestCounts& sum, const IngestCounts& counts) {
  sum.observations += counts.observations;
  sum.appended += counts.appended;
  sum.duplicates += counts.duplicates;
  sum.unknown += counts.unknown;
  sum.malformed += counts.malformed;
  sum.bytes += counts.bytes;
  sum.sessions.insert(counts.sessions.begin(), counts.sessions.end());
  if (sum.first_damage.empty()) sum.first_damage = counts.first_damage;
  sum.problems.insert(sum.problems.end(), counts.problems.begin(), counts.problems.end());
  sum.refused += counts.refused;
  sum.interrupted |= counts.interrupted;
}

void print_counts(const Context& context, const IngestCounts& counts, double seconds) {
  if (context.json()) {
    fmt::print("{}\n",
               JsonObject("respool.ingest/1")
                   .number("observations", static_cast<std::int64_t>(counts.observations))
                   .number("appended", static_cast<std::int64_t>(counts.appended))
                   .number("duplicates", static_cast<std::int64_t>(counts.duplicates))
                   .number("unknown", static_cast<std::int64_t>(counts.unknown))
                   .number("malformed", static_cast<std::int64_t>(counts.malformed))
                   .number("sessions", static_cast<std::int64_t>(counts.sessions.size()))
                   .number("bytes", static_cast<std::int64_t>(counts.bytes))
                   .raw("seconds", fmt::format("{:.3f}", seconds))
                   .str());
    return;
  }
  if (context.quiet()) return;
  fmt::print("{} of {}: {} appended, {} known already\n",
             counted(counts.observations, "observation"),
             counted(counts.sessions.size(), "session"),
             counts.appended,
             counts.duplicates);
  if (counts.unknown > 0)
    fmt::print("{} of unknown types are kept; \"respool gaps\" lists them\n", counts.unknown);
}

}  // namespace respool
