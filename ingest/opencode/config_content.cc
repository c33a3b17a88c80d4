#include "ingest/opencode/config_content.h"

#include <array>

#include <boost/json/src.hpp>

namespace respool {
namespace {

namespace json = boost::json;

constexpr auto kMutating =
    std::to_array<std::string_view>({"bash", "write", "edit", "patch", "task"});

// The last rule that matches counts, so each of ours is taken out and put at the end. A bare word
// ("ask") means that word for everything.
void put_rules(json::value& permission, PermissionMode mode) {
  if (permission.is_string()) {
    const json::string everything = permission.as_string();
    permission = json::object{{"*", everything}};
  }
  if (!permission.is_object()) permission = json::object();
  auto& rules = permission.as_object();
  json::object ordered;
  if (mode == PermissionMode::FullAccess) {
    // Names given one by one too: a rule of the project's for one tool would stand after "*".
    for (const auto& [tool, rule] : rules) {
      if (tool != "*") ordered[tool] = "allow";
    }
    for (const auto tool : kMutating)
      ordered[tool] = "allow";
    ordered["*"] = "allow";
  } else {
    for (const auto& [tool, rule] : rules)
      ordered[tool] = rule;
    for (const auto tool : kMutating) {
      ordered.erase(tool);
      ordered[tool] = "deny";
    }
  }
  rules = std::move(ordered);
}

json::object& object_in(json::object& parent, std::string_view key) {
  auto& value = parent[key];
  if (!value.is_object()) value = json::object();
  return value.as_object();
}

}  // namespace

std::optional<PermissionMode> parse_permission_mode(std::string_view name) {
  for (const auto mode :
       {PermissionMode::Default, PermissionMode::FullAccess, PermissionMode::Plan}) {
    if (permission_mode_name(mode) == name) return mode;
  }
  return std::nullopt;
}

std::string_view permission_mode_name(PermissionMode mode) {
  switch (mode) {
    case PermissionMode::Default:
      return "default";
    case PermissionMode::FullAccess:
      return "full_access";
    case PermissionMode::Plan:
      return "plan";
  }
  return "default";
}

Result<std::optional<std::string>> with_permission_mode(const std::string& content,
                                                        PermissionMode mode,
                                                        const std::string& agent) {
  if (mode == PermissionMode::Default) return std::optional<std::string>();
  json::parse_options options;
  options.allow_comments = options.allow_trailing_commas = true;
  boost::system::error_code error;
  json::value config =
      content.empty() ? json::value(json::object()) : json::parse(content, error, {}, options);
  if (error || !config.is_object()) {
    return Error(ErrorCode::InvalidArgument,
                 "OPENCODE_CONFIG_CONTENT is not a JSON object, so no mode can be added to it",
                 "correct it, or leave out --mode");
  }
  auto& root = config.as_object();
  put_rules(root["permission"], mode);
  auto& agents = object_in(root, "agent");
  put_rules(object_in(agents, agent.empty() ? "build" : agent)["permission"], mode);
  return std::optional(json::serialize(config));
}

}  // namespace respool
