#include "query/export/made_up.h"

#include <algorithm>

#include "schema/money.h"

namespace respool::export_detail {
namespace {

struct Usage {
  bool any = false;
  std::int64_t cost_nanos = 0;
  std::int64_t input = 0;
  std::int64_t output = 0;
  std::int64_t reasoning = 0;
  std::int64_t cache_read = 0;
  std::int64_t cache_write = 0;

  void add(const fb::TokenCounts& tokens, std::int64_t nanos) {
    any = true;
    cost_nanos += nanos;
    input += tokens.input();
    output += tokens.output();
    reasoning += tokens.reasoning();
    cache_read += tokens.cache_read();
    cache_write += tokens.cache_write();
  }
};

void add_steps(Usage& usage, const MessageFacts& message) {
  for (const auto& [id, part] : message.parts) {
    const bool counts = is_live(part) && !is_removed(part);
    if (counts && part.type == fb::PartType::StepFinish)
      usage.add(part.tokens, part.cost_nanos.value_or(0));
  }
}

void set_usage(JsonFields& object, const Usage& usage) {
  JsonFields cache;
  cache.set_number("read", usage.cache_read);
  cache.set_number("write", usage.cache_write);
  JsonFields tokens;
  tokens.set_number("input", usage.input);
  tokens.set_number("output", usage.output);
  tokens.set_number("reasoning", usage.reasoning);
  tokens.set("cache", cache.json());
  object.set("cost", nanos_to_decimal(usage.cost_nanos));
  object.set("tokens", tokens.json());
}

// When the last of the message's parts ended, as far as a source says.
std::int64_t last_seen_ms(const OrderedMessage& message) {
  std::int64_t last = message.time_ms;
  for (const auto& [id, part] : message.message->parts) {
    if (part.end_ms) last = std::max<std::int64_t>(last, *part.end_ms);
    if (part.line_ms) last = std::max<std::int64_t>(last, *part.line_ms);
  }
  return last;
}

void take(std::string& known, std::string_view said) {
  if (known.empty()) known = said;
}

void take_model(Defaults& known, std::string_view provider, std::string_view model) {
  if (!known.model.empty() || provider.empty() || model.empty()) return;
  known.provider = provider;
  known.model = model;
}

void set_answer(JsonFields& info, const OrderedMessage& message, const Defaults& defaults) {
  const fb::MessageRowT none;
  const auto& row = message.message->row ? *message.message->row : none;
  const std::string agent = row.agent.empty() ? defaults.agent : row.agent;
  info.set_text("mode", row.mode.empty() ? agent : row.mode);
  info.set_text("agent", agent);
  JsonFields path;
  path.set_text("cwd", row.cwd.empty() ? defaults.directory : row.cwd);
  path.set_text("root", row.cwd.empty() ? defaults.directory : row.cwd);
  info.set("path", path.json());
  Usage usage;
  add_steps(usage, *message.message);
  if (row.has_tokens) {
    usage = Usage();
    usage.add(row.tokens, row.cost_nanos.value_or(0));
  }
  set_usage(info, usage);
  const bool has_model = !row.provider.empty() && !row.model.empty();
  info.set_text("modelID", has_model ? row.model : defaults.model);
  info.set_text("providerID", has_model ? row.provider : defaults.provider);
  if (row.summary) info.set("summary", "true");
  const std::string finish = row.finish.empty() ? last_reason(message) : row.finish;
  if (!finish.empty()) info.set_text("finish", finish);
  if (row.error_name.empty()) return;
  JsonFields data;
  data.set_text("message", row.error_text);
  JsonFields error;
  error.set_text("name", "UnknownError");
  error.set("data", data.json());
  info.set("error", error.json());
}

}  // namespace

Defaults defaults_of(const SessionFacts& facts, const OpenCodeFileOptions& options) {
  Defaults known;
  for (const auto& ordered : message_order(facts)) {
    if (!ordered.message->row) continue;
    take(known.agent, ordered.message->row->agent);
    take_model(known, ordered.message->row->provider, ordered.message->row->model);
  }
  take(known.agent, facts.session.agent);
  take_model(known, facts.session.provider, facts.session.model);
  known.directory = facts.session.directory;
  for (const auto& [id, run] : facts.runs) {
    take(known.agent, run.agent);
    take(known.directory, run.directory);
    const auto slash = run.model.find('/');
    if (slash != std::string::npos)
      take_model(known, run.model.substr(0, slash), run.model.substr(slash + 1));
  }
  for (const auto& [key, binding] : facts.bindings)
    take(known.directory, binding.directory);
  take_model(known, options.model_provider, options.model);
  take_model(known, "unknown", "unknown");
  take(known.agent, "build");  // the agent OpenCode starts with
  if (!options.directory.empty()) known.directory = options.directory;
  take(known.directory, "/");
  return known;
}

void learn(Defaults& defaults, const fb::MessageRowT& row) {
  // The agents that compact and title are not the user's choice.
  if (!row.agent.empty() && row.role == "user") defaults.agent = row.agent;
  if (row.provider.empty() || row.model.empty()) return;
  defaults.provider = row.provider;
  defaults.model = row.model;
}

JsonFields session_from_facts(const SessionFacts& facts,
                              const std::vector<OrderedMessage>& order,
                              const Defaults& defaults,
                              const OpenCodeFileOptions& options) {
  const auto& row = facts.session;
  const std::int64_t first = order.empty() ? options.id_time_ms : order.front().time_ms;
  const std::int64_t last = order.empty() ? first : last_seen_ms(order.back());
  std::string version = row.opencode_version;
  for (const auto& [id, run] : facts.runs)
    take(version, run.opencode_version);
  take(version, options.opencode_version);
  JsonFields info;
  info.set_text("id", row.id);
  info.set_text("slug", "recorded-session");
  info.set_text("projectID", row.project.empty() ? "global" : row.project);
  info.set_text("directory", row.directory.empty() ? defaults.directory : row.directory);
  info.set_text("title", row.title.empty() ? "Recorded session" : row.title);
  info.set_text("version", version);
  Usage usage;
  for (const auto& ordered : order) {
    if (!ordered.message->row || !is_removed(*ordered.message->row))
      add_steps(usage, *ordered.message);
  }
  set_usage(info, usage);
  JsonFields time;
  const std::int64_t created = row.created_ms ? *row.created_ms : first;
  const std::int64_t updated = row.updated_ms ? *row.updated_ms : last;
  time.set_number("created", std::max<std::int64_t>(0, created));
  time.set_number("updated", std::max<std::int64_t>(0, updated));
  info.set("time", time.json());
  return info;
}

JsonFields message_from_facts(const OrderedMessage& message, const Defaults& defaults) {
  if (!message.assistant) return user_message(defaults, message.time_ms);
  JsonFields info;
  info.set_text("role", "assistant");
  JsonFields time;
  time.set_number("created", std::max<std::int64_t>(0, message.time_ms));
  const auto& row = message.message->row;
  if (row && row->completed_ms) {
    time.set_number("completed", *row->completed_ms);
  } else if (!row && !last_reason(message).empty()) {
    time.set_number("completed", std::max<std::int64_t>(0, last_seen_ms(message)));
  }
  info.set("time", time.json());
  set_answer(info, message, defaults);
  return info;
}

JsonFields user_message(const Defaults& defaults, std::int64_t time_ms) {
  JsonFields info;
  info.set_text("role", "user");
  JsonFields time;
  time.set_number("created", std::max<std::int64_t>(0, time_ms));
  info.set("time", time.json());
  info.set_text("agent", defaults.agent);
  JsonFields model;
  model.set_text("providerID", defaults.provider);
  model.set_text("modelID", defaults.model);
  info.set("model", model.json());
  return info;
}

JsonFields text_part(std::string_view text) {
  JsonFields part;
  part.set_text("type", "text");
  part.set_text("text", text);
  return part;
}

void mark_synthetic(JsonFields& part, std::string_view what, std::string_view session) {
  part.set("synthetic", "true");
  JsonFields mark;
  mark.set_text("note", what);
  mark.set_text("session", session);
  JsonFields metadata;
  metadata.set("respool", mark.json());
  part.set("metadata", metadata.json());
}

std::string last_reason(const OrderedMessage& message) {
  std::string reason;
  for (const auto* part : part_order(*message.message, message.time_ms)) {
    if (part->type == fb::PartType::StepFinish && !is_removed(*part)) reason = part->reason;
  }
  return reason;
}

}  // namespace respool::export_detail
