#include <algorithm>
#include <sstream>

#include <fmt/format.h>

#include "query/views/usage_view.h"

#include "tools/config.h"
#include "tools/context.h"
#include "tools/output/json_writer.h"
#include "tools/output/table.h"

namespace respool {
namespace {

Result<std::vector<UsageKey>> parse_keys(const std::string& text) {
  std::vector<UsageKey> keys;
  std::istringstream names(text);
  std::string name;
  while (std::getline(names, name, ',')) {
    const auto key = parse_usage_key(name);
    if (!key) {
      return Error(
          ErrorCode::InvalidArgument,
          fmt::format("usage cannot be grouped by \"{}\"", name),
          "session, day, week, month, model, provider, agent, project, host, root or tool");
    }
    if (std::find(keys.begin(), keys.end(), *key) == keys.end()) keys.push_back(*key);
  }
  return keys;
}

std::string joined_key(const UsageGroup& group) {
  std::string key;
  for (const auto& part : group.keys)
    key += (key.empty() ? "" : ",") + (part.empty() ? std::string("unknown") : part);
  return key;
}

std::string group_json(const std::string& key,
                       const UsageGroup& group,
                       const std::vector<UsageKey>& by) {
  JsonObject json("respool.usage/1");
  json.text("key", key);
  if (!group.keys.empty()) {
    JsonObject keys;
    for (std::size_t i = 0; i < by.size(); ++i)
      keys.known_text(usage_key_name(by[i]), group.keys[i]);
    json.raw("keys", keys.str());
  }
  json.number("steps", group.usage.steps)
      .raw("tokens", spent_tokens_json(group.usage))
      .money("cost", group.usage.cost_nanos)
      .number("visible_cost_nanos", group.usage.visible_cost_nanos);
  if (group.recomputed_cost_nanos)
    json.number("recomputed_cost_nanos", *group.recomputed_cost_nanos);
  return json.number("unpriced_steps", group.usage.unpriced_steps)
      .number("copied_steps", group.usage.copied_steps)
      .number("removed_steps", group.usage.removed_steps)
      .str();
}

std::vector<std::string> group_cells(const std::string& key,
                                     const UsageGroup& group,
                                     bool recomputed) {
  std::vector<std::string> cells = {key,
                                    std::to_string(group.usage.steps),
                                    std::to_string(group.usage.input),
                                    std::to_string(group.usage.output),
                                    std::to_string(group.usage.reasoning),
                                    std::to_string(group.usage.cache_read),
                                    std::to_string(group.usage.cache_write),
                                    dollars(group.usage.cost_nanos)};
  if (recomputed)
    cells.push_back(group.recomputed_cost_nanos ? dollars(*group.recomputed_cost_nanos)
                                                : "unknown");
  return cells;
}

}  // namespace

Result<ExitCode> run_usage(const Arguments& arguments, Context& context) {
  RESPOOL_TRY(const auto by, parse_keys(arguments.value("by")));
  std::optional<Prices> prices;
  if (arguments.has("prices")) {
    RESPOOL_TRY(prices, read_prices(arguments.value("prices")));
  }
  RESPOOL_TRY(const auto filter, context.filter(arguments, arguments.value("session")));
  RESPOOL_TRY(const auto zone, context.zone(arguments));
  RESPOOL_TRY(const auto store, context.open_for_reading());
  if (!store) {
    if (context.json()) fmt::print("{}\n", group_json("total", {}, by));
    return ExitCode::Done;
  }
  const StoreReader reader(*store);
  RESPOOL_TRY(const auto answer,
              usage(reader, by, filter, zone, prices ? &*prices : nullptr, context.here()));
  std::vector<std::string> header = {
      "KEY", "STEPS", "INPUT", "OUTPUT", "REASONING", "CACHE READ", "CACHE WRITE", "COST"};
  if (prices) header.emplace_back("RECOMPUTED");
  Table table(header);
  std::size_t shown = 0;
  for (const auto& group : answer.groups) {
    if (shown++ >= filter.limit) break;
    if (context.json()) {
      fmt::print("{}\n", group_json(joined_key(group), group, by));
    } else {
      table.add(group_cells(joined_key(group), group, prices.has_value()));
    }
  }
  if (context.json()) {
    fmt::print("{}\n", group_json("total", answer.total, by));
  } else {
    table.add(group_cells("total", answer.total, prices.has_value()));
  }
  table.print(context.color());
  return ExitCode::Done;
}

}  // namespace respool
