#pragma once

// Internal to opencode_file.cc: changes to single objects of OpenCode's. Pure functions.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schema/opencode/json_fields.h"
#include "schema/opencode/path_map.h"

namespace respool::export_detail {

// What holds for all objects of one file.
struct Changes {
  bool fresh_ids = false;
  bool zero_usage = false;
  bool other_directory = false;  // snapshots of the old one do not exist there
  std::string directory;         // "": as stored
  std::string title;
  std::string opencode_version;
  PathMap paths{"", ""};
};

std::string zero_tokens();

void change_session(JsonFields& session, const Changes& changes);
void change_message(JsonFields& message, const Changes& changes);
void change_part(JsonFields& part, const Changes& changes);

// Says what to fill in where an older OpenCode did not store what newer ones demand.
struct Defaults {
  std::string agent;
  std::string provider;
  std::string model;
  std::string directory;
  std::int64_t time_ms = 0;
};
// Each gives the names of the fields it filled in.
std::vector<std::string> complete_message(JsonFields& message, const Defaults& defaults);
std::vector<std::string> complete_part(JsonFields& part, const Defaults& defaults);

// Turns a call that is still pending or running into one that failed: nobody will ever finish it.
// `seen_ms` is when it was last seen so. False where the part is no such call.
bool end_open_call(JsonFields& part, std::int64_t started_ms, std::int64_t seen_ms);

// Gives the files that a call gave back, which are parts of their own, ids that are new as the
// part's are. Must follow the change of the part's own ids.
void rename_attachments(JsonFields& part, std::string_view seed, std::int64_t time_ms);

// An error of a kind the importer does not know, as one that it knows.
std::string known_error(const JsonFields& error);

}  // namespace respool::export_detail
