#include "ingest/opencode/model_limits.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include <boost/json.hpp>

#include "ingest/process/child_process.h"

namespace respool {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr std::uintmax_t kMaxFileBytes = 64U << 20;

std::string content_of(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error) || fs::file_size(path, error) > kMaxFileBytes) return {};
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

const json::value* field(const json::value* value, std::string_view key) {
  const auto* object = value == nullptr ? nullptr : value->if_object();
  return object == nullptr ? nullptr : object->if_contains(key);
}

std::uint64_t number(const json::value* value) {
  if (value == nullptr || !value->is_number()) return 0;
  std::error_code error;
  const auto whole = value->to_number<std::uint64_t>(error);
  return error ? 0 : whole;
}

std::optional<json::value> parsed(const std::string& text) {
  if (text.empty()) return std::nullopt;
  json::parse_options options;
  options.allow_comments = true;
  options.allow_trailing_commas = true;
  std::error_code error;
  json::value root = json::parse(text, error, {}, options);
  return error ? std::nullopt : std::optional(std::move(root));
}

// Configurations have the providers below "provider", the copy of models.dev at the top.
std::optional<ModelLimits> limits_in(const std::string& text,
                                     const std::string& provider,
                                     const std::string& model) {
  const auto root = parsed(text);
  if (!root) return std::nullopt;
  const auto* const providers = field(&*root, "provider");
  const auto* const of_provider = field(providers != nullptr ? providers : &*root, provider);
  const auto* const limit = field(field(field(of_provider, "models"), model), "limit");
  const ModelLimits limits{number(field(limit, "context")), number(field(limit, "output"))};
  return limits.context > 0 ? std::optional(limits) : std::nullopt;
}

fs::path folder(const std::vector<std::string>& environment,
                std::string_view name,
                std::string_view otherwise) {
  const std::string set = variable(environment, name);
  const fs::path base =
      set.empty() ? fs::path(variable(environment, "HOME")) / otherwise : fs::path(set);
  return base / "opencode";
}

// OpenCode's configuration of this user, the strongest first.
std::vector<std::string> configurations(const std::vector<std::string>& environment) {
  const fs::path configuration = folder(environment, "XDG_CONFIG_HOME", ".config");
  return {variable(environment, "OPENCODE_CONFIG_CONTENT"),
          content_of(variable(environment, "OPENCODE_CONFIG")),
          content_of(configuration / "opencode.json"),
          content_of(configuration / "opencode.jsonc")};
}

}  // namespace

std::optional<ModelLimits> model_limits(const std::vector<std::string>& environment,
                                        const std::string& provider,
                                        const std::string& model) {
  auto texts = configurations(environment);
  texts.push_back(content_of(variable(environment, "OPENCODE_MODELS_PATH")));
  texts.push_back(content_of(folder(environment, "XDG_CACHE_HOME", ".cache") / "models.json"));
  for (const auto& text : texts) {
    if (auto limits = limits_in(text, provider, model)) return limits;
  }
  return std::nullopt;
}

std::string default_model(const std::vector<std::string>& environment) {
  for (const auto& text : configurations(environment)) {
    const auto root = parsed(text);
    const auto* const model = root ? field(&*root, "model") : nullptr;
    if (model != nullptr && model->is_string()) return std::string(model->get_string());
  }
  return {};
}

}  // namespace respool
