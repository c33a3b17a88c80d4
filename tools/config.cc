#include "tools/config.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <simdjson.h>

#include "schema/money.h"

#include "tools/heads_file.h"
#include "tools/output/json_writer.h"

namespace respool {
namespace {

namespace dom = simdjson::dom;

std::filesystem::path config_path() {
  const char* config_home = std::getenv("XDG_CONFIG_HOME");
  if (config_home != nullptr && *config_home != '\0')
    return std::filesystem::path(config_home) / "respool" / "config.json";
  const char* home = std::getenv("HOME");
  return std::filesystem::path(home == nullptr ? "" : home) / ".config" / "respool" / "config.json";
}

std::string text_field(const dom::element& object, std::string_view key) {
  std::string_view text;
  return object[key].get(text) ? "" : std::string(text);
}

// Dollars for a million tokens as nano-dollars for a million.
std::int64_t price_field(const dom::element& cost, std::string_view key) {
  dom::element field;
  if (cost[key].get(field)) return 0;
  return nanos_from_decimal(simdjson::minify(field)).value_or(0);
}

void read_models(const std::string& provider, const dom::element& models, Prices& prices) {
  dom::object object;
  if (models.get(object)) return;
  for (const auto& [name, model] : object) {
    dom::element cost;
    if (model["cost"].get(cost)) continue;
    prices[provider + "/" + std::string(name)] = Price{price_field(cost, "input"),
                                                       price_field(cost, "output"),
                                                       price_field(cost, "cache_read"),
                                                       price_field(cost, "cache_write")};
  }
}

void read_providers(const dom::element& root, Prices& prices) {
  dom::object object;
  if (root.get(object)) return;
  for (const auto& [name, provider] : object) {
    dom::element models;
    if (!provider["models"].get(models)) read_models(std::string(name), models, prices);
  }
}

}  // namespace

Config read_config() {
  Config config;
  dom::parser parser;
  dom::element root;
  if (parser.load(config_path().string()).get(root)) return config;
  config.store = text_field(root, "store");
  config.host = text_field(root, "host");
  dom::array excluded;
  if (!root["capture"]["exclude"].get(excluded)) {
    for (const auto& directory : excluded) {
      std::string_view text;
      if (!directory.get(text)) config.capture_exclude.emplace_back(text);
    }
  }
  dom::array rules;
  if (!root["replay"]["mask"].get(rules)) {
    for (const auto& rule : rules)
      config.mask.push_back({text_field(rule, "kind"), text_field(rule, "pattern")});
  }
  return config;
}

Result<Prices> read_prices(const std::string& path) {
  dom::parser parser;
  dom::element root;
  if (const auto error = parser.load(path).get(root)) {
    return Error(ErrorCode::InvalidArgument,
                 fmt::format("prices {}: {}", path, simdjson::error_message(error)),
                 "the form is that of models.dev: {PROVIDER: {models: {MODEL: {cost: {input, "
                 "output, ...}}}}}");
  }
  Prices prices;
  read_providers(root, prices);
  dom::element below;
  if (!root["provider"].get(below)) read_providers(below, prices);
  if (!prices.empty()) return prices;
  return Error(ErrorCode::InvalidArgument,
               fmt::format("prices {}: no model with a cost", path),
               "the form is that of models.dev: {PROVIDER: {models: {MODEL: {cost: {input, output, "
               "...}}}}}");
}

std::string head_json(const HeadLine& head) {
  return JsonObject("respool.head/1")
      .text("kind", head.kind == StreamKind::Session ? "session" : "host")
      .text("stream", head.stream)
      .text("origin", head.origin)
      .number("events", static_cast<std::int64_t>(head.events))
      .text("chain", head.chain)
      .str();
}

Result<std::vector<HeadLine>> read_heads_file(const std::string& path) {
  std::ifstream file(path);
  if (!file) return Error(ErrorCode::NotFound, fmt::format("{}: cannot be read", path));
  std::vector<HeadLine> heads;
  dom::parser parser;
  std::string line;
  for (std::size_t number = 1; std::getline(file, line); ++number) {
    dom::element root;
    std::uint64_t events = 0;
    if (parser.parse(line).get(root) || text_field(root, "schema") != "respool.head/1" ||
        root["events"].get(events)) {
      return Error(ErrorCode::InvalidArgument,
                   fmt::format("{}: line {} is not a head", path, number),
                   "give what \"respool verify --report\" printed");
    }
    heads.push_back({text_field(root, "stream"),
                     text_field(root, "kind") == "host" ? StreamKind::Host : StreamKind::Session,
                     text_field(root, "origin"),
                     events,
                     text_field(root, "chain")});
  }
  return heads;
}

}  // namespace respool
