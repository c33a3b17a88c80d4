#include "query/export/opencode_objects.h"

#include <algorithm>

#include <fmt/format.h>

#include "schema/opencode/new_id.h"

namespace respool::export_detail {
namespace {

// What the model and the reader are told in the place of a result.
constexpr std::string_view kInterrupted =
    "The tool call was interrupted and its result was never recorded. It may have taken effect, in "
    "part or in whole: check before you repeat it.";

void zero_usage_of(JsonFields& object) {
  if (object.has("cost")) object.set("cost", "0");
  if (object.has("tokens")) object.set("tokens", zero_tokens());
}

bool fill_in(JsonFields& object,
             const char* name,
             std::string value,
             std::vector<std::string>& filled) {
  if (object.has(name)) return false;
  object.set(name, std::move(value));
  filled.emplace_back(name);
  return true;
}

bool fill_in_text(JsonFields& object,
                  const char* name,
                  std::string_view text,
                  std::vector<std::string>& filled) {
  if (object.has(name)) return false;
  object.set_text(name, text);
  filled.emplace_back(name);
  return true;
}

std::string path_json(const std::string& directory) {
  JsonFields path;
  path.set_text("cwd", directory);
  path.set_text("root", directory);
  return path.json();
}

void complete_state(JsonFields& part, std::vector<std::string>& filled) {
  auto state = part.object("state");
  if (!state) return;
  const auto status = state->text("status");
  const std::size_t before = filled.size();
  fill_in(*state, "input", "{}", filled);
  if (status == "completed") {
    fill_in_text(*state, "title", "", filled);
    fill_in(*state, "metadata", "{}", filled);
  }
  if (filled.size() != before) part.set("state", state->json());
}

}  // namespace

std::string zero_tokens() {
  return R"({"input":0,"output":0,"reasoning":0,"cache":{"read":0,"write":0}})";
}

void change_session(JsonFields& session, const Changes& changes) {
  if (!changes.directory.empty()) session.set_text("directory", changes.directory);
  if (!changes.title.empty()) session.set_text("title", changes.title);
  if (!changes.opencode_version.empty()) session.set_text("version", changes.opencode_version);
  if (changes.zero_usage) {
    session.set("cost", "0");
    session.set("tokens", zero_tokens());
  }
  if (!changes.fresh_ids) return;
  // What ties the old session to its host, its parent, or a moment in its life. A copy with the
  // permissions of the old one would be allowed what nobody allows here.
  for (const auto* name : {"parentID", "share", "revert", "permission", "workspaceID"})
    session.remove(name);
  if (auto time = session.object("time")) {
    time->remove("compacting");
    time->remove("archived");
    session.set("time", time->json());
  }
}

void change_message(JsonFields& message, const Changes& changes) {
  if (changes.zero_usage) zero_usage_of(message);
  if (changes.directory.empty()) return;
  auto path = message.object("path");
  if (!path) return;
  // "/" is the root of what is under no version control, wherever that is.
  const auto root = path->text("root");
  path->set_text("cwd", changes.directory);
  path->set_text("root", root == "/" ? "/" : changes.directory);
  message.set("path", path->json());
}

void change_part(JsonFields& part, const Changes& changes) {
  const auto type = part.text("type");
  if (changes.zero_usage && type == "step-finish") zero_usage_of(part);
  // OpenCode asks git for the difference of the first and the last snapshot of a session.
  if (changes.other_directory && (type == "step-start" || type == "step-finish"))
    part.remove("snapshot");
  if (!changes.paths.maps() || type != "tool") return;
  auto state = part.object("state");
  const auto input = state ? state->get("input") : std::nullopt;
  if (!input) return;
  state->set("input", changes.paths.mapped(*input));
  part.set("state", state->json());
}

std::vector<std::string> complete_message(JsonFields& message, const Defaults& defaults) {
  std::vector<std::string> filled;
  auto time = message.object("time").value_or(JsonFields());
  if (!time.has("created")) {
    time.set_number("created", defaults.time_ms);
    message.set("time", time.json());
    filled.emplace_back("time.created");
  }
  if (message.text("role") == "user") {
    fill_in_text(message, "agent", defaults.agent, filled);
    JsonFields model;
    model.set_text("providerID", defaults.provider);
    model.set_text("modelID", defaults.model);
    fill_in(message, "model", model.json(), filled);
    return filled;
  }
  fill_in_text(message, "agent", message.text("mode").value_or(defaults.agent), filled);
  fill_in_text(message, "mode", message.text("agent").value_or(defaults.agent), filled);
  fill_in_text(message, "providerID", defaults.provider, filled);
  fill_in_text(message, "modelID", defaults.model, filled);
  fill_in(message, "path", path_json(defaults.directory), filled);
  fill_in(message, "cost", "0", filled);
  fill_in(message, "tokens", zero_tokens(), filled);
  return filled;
}

std::vector<std::string> complete_part(JsonFields& part, const Defaults& defaults) {
  std::vector<std::string> filled;
  const auto type = part.text("type");
  if (type == "reasoning") {
    JsonFields time;
    time.set_number("start", defaults.time_ms);
    fill_in(part, "time", time.json(), filled);
  } else if (type == "step-finish") {
    fill_in_text(part, "reason", "unknown", filled);
    fill_in(part, "cost", "0", filled);
    fill_in(part, "tokens", zero_tokens(), filled);
  } else if (type == "compaction") {
    fill_in(part, "auto", "false", filled);
  } else if (type == "tool") {
    complete_state(part, filled);
  }
  return filled;
}

bool end_open_call(JsonFields& part, std::int64_t started_ms, std::int64_t seen_ms) {
  if (part.text("type") != "tool") return false;
  auto state = part.object("state");
  if (!state) return false;
  const auto status = state->text("status");
  if (status != "pending" && status != "running") return false;
  JsonFields time;
  time.set_number("start", started_ms);
  time.set_number("end", std::max(started_ms, seen_ms));
  state->set_text("status", "error");
  state->set_text("error", kInterrupted);
  state->set("time", time.json());
  // A call that waited has its arguments as the model was writing them: `raw` is not said of
  // errors, nor is a title.
  state->remove("raw");
  state->remove("title");
  part.set("state", state->json());
  return true;
}

void rename_attachments(JsonFields& part, std::string_view seed, std::int64_t time_ms) {
  auto state = part.object("state");
  const auto list = state ? state->get("attachments") : std::nullopt;
  const auto files = list ? split_json_array(*list) : std::nullopt;
  if (!files) return;
  std::string renamed = "[";
  for (const auto& element : *files) {
    auto file = JsonFields::parse(element);
    if (!file) return;
    const std::string file_seed =
        fmt::format("{}\n{}\n{}", seed, part.text("id").value_or(""), renamed.size());
    file->set_text("id", id_for("prt_", file_seed, time_ms));
    file->set_text("sessionID", part.text("sessionID").value_or(""));
    file->set_text("messageID", part.text("messageID").value_or(""));
    if (renamed.size() > 1) renamed.push_back(',');
    file->append_to(renamed);
  }
  state->set("attachments", renamed + "]");
  part.set("state", state->json());
}

std::string known_error(const JsonFields& error) {
  const auto data = error.object("data");
  auto message = data ? data->text("message") : std::nullopt;
  if (!message) message = error.text("message");
  if (!message) message = error.text("name");
  JsonFields known;
  JsonFields known_data;
  known_data.set_text("message", message.value_or("UnknownError"));
  known.set_text("name", "UnknownError");
  known.set("data", known_data.json());
  return known.json();
}

}  // namespace respool::export_detail
