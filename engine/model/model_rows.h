#pragma once

#include <map>
#include <string>

#include "engine/facts/session_facts.h"
#include "engine/storage/store.h"

namespace respool {

// One session as the model keeps it: its facts, and the steps derived from them.
struct ModelSession {
  SessionFacts facts;
  std::map<std::string, fb::StepRowT> steps;  // by message id
};

// Reads a session's rows from a model family. A session without rows comes back empty.
Result<ModelSession> load_session(const ReadView& view,
                                  Family model,
                                  SessionNumber number,
                                  const StreamName& name);

// Stages the rows of the facts that were touched since the last call, and forgets that they were.
void stage_facts(SessionFacts& facts, Family model, WriteUnit& unit);

// How many rows a session has, for bounding what is kept in memory.
std::size_t row_count(const ModelSession& session);

// "provider\0model\0agent\0tools": what a rollup is kept apart by, beside time and session.
std::string rollup_dimensions(const fb::StepRowT& step);
struct Dimensions {
  std::string provider;
  std::string model;
  std::string agent;
  std::string tools;
};
Dimensions parse_dimensions(std::string_view text);

// Rollups are kept per quarter of an hour UTC, so that the days of any zone are sums of them.
inline constexpr std::int64_t kBucketMs = 15 * 60 * 1000;
std::uint32_t bucket_of(std::int64_t time_ms);

}  // namespace respool
