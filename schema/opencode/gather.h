#pragma once

// Internal to this folder: one pass over a record, whatever order its keys come in.

#include "schema/opencode/decode_part.h"

namespace respool::decode_detail {

// Everything a record may hold, gathered in one pass whatever order its keys come in.
struct Gathered {
  // Which top-level keys were there: they tell the shape.
  bool has_timestamp = false, has_part = false, has_error = false, has_properties = false,
       has_payload = false, has_data = false, has_aggregate = false, has_sync = false;

  std::string type;
  std::string outer_session;  // sessionID or aggregate beside the body
  std::string event_id;
  std::optional<std::uint64_t> sequence;
  std::optional<std::int64_t> timestamp;

  // The body: properties, data, or the line itself.
  std::string body_session;
  std::string body_id;
  std::string part_session;
  std::optional<std::int64_t> body_time;
  Info info;
  bool has_info = false;
  fb::PartRowT part;
  ErrorBody error;
  RemovedBody removed;
  std::string status;
  AskBody ask;
  TodosBody todos;
  fb::CommandRowT command;
  PromptBody prompt;
  std::optional<std::int64_t> until_ms;
  Notes notes;
};

// Reads the outermost object, or the payload of a global frame, or its sync event.
void read_envelope(json::Object object, Gathered& all, int depth = 0);

}  // namespace respool::decode_detail
