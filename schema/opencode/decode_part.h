#pragma once

// Internal to this folder: reading the nested objects of a record.

#include "schema/opencode/json_reader.h"
#include "schema/opencode/record.h"

namespace respool::decode_detail {

// `info` before it is known whether a session's or a message's: both are filled.
struct Info {
  std::string id;
  std::string session;
  bool has_role = false;
  fb::SessionRowT as_session;
  fb::MessageRowT as_message;
};

// What the parse shares: problems found and the latest time seen.
struct Notes {
  unsigned problems = kNoProblem;
  std::string detail;
  std::optional<std::int64_t> latest_ms;
  bool broken = false;

  void problem(unsigned which, std::string_view what) {
    if (problems == kNoProblem) detail = what;
    problems |= which;
  }
  void saw_time(std::optional<std::int64_t> time) {
    if (time && (!latest_ms || *time > *latest_ms)) latest_ms = time;
  }
};

void read_info(json::Object object, Info& info, Notes& notes);
// `session` is what the part itself names.
void read_part(json::Object object, fb::PartRowT& part, std::string& session, Notes& notes);
ErrorBody read_error(json::Value value, Notes& notes);
void read_tokens(json::Value value, bool& has_tokens, fb::TokenCounts& tokens, Notes& notes);
std::optional<std::int64_t> read_cost(json::Value value, Notes& notes);

inline constexpr std::size_t kErrorTextBytes = 400;
inline constexpr std::size_t kNameBytes = 240;

}  // namespace respool::decode_detail
