#pragma once

// Internal to opencode_file.cc: OpenCode's objects put together from facts, where no source showed
// them whole. A run stream shows parts only; the rest of what an import demands comes from here.

#include <cstdint>
#include <string>

#include "schema/opencode/json_fields.h"

#include "engine/facts/merge_order.h"

#include "query/export/opencode_file.h"
#include "query/export/opencode_objects.h"

namespace respool::export_detail {

// What is known of a session's agent, model and directory where a message does not say it: the
// first that any source showed, else what the options say.
Defaults defaults_of(const SessionFacts& facts, const OpenCodeFileOptions& options);
// The same, brought up to date by a message that says it.
void learn(Defaults& defaults, const fb::MessageRowT& row);

// A session's `info` from its facts.
JsonFields session_from_facts(const SessionFacts& facts,
                              const std::vector<OrderedMessage>& order,
                              const Defaults& defaults,
                              const OpenCodeFileOptions& options);

// A message's `info` from its facts, all but its ids and its parent.
JsonFields message_from_facts(const OrderedMessage& message, const Defaults& defaults);

// A user's message and a text part of it that no source showed, all but their ids.
JsonFields user_message(const Defaults& defaults, std::int64_t time_ms);
JsonFields text_part(std::string_view text);
// Marks a part as written by respool, not by the user: `what` says why it is there.
void mark_synthetic(JsonFields& part, std::string_view what, std::string_view session);

// The reason of the message's last step that ended, "" where none did.
std::string last_reason(const OrderedMessage& message);

}  // namespace respool::export_detail
