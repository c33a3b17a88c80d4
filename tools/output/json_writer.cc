#include "tools/output/json_writer.h"

#include <fmt/format.h>

#include "schema/money.h"
#include "schema/opencode/json_text.h"
#include "schema/time.h"

namespace respool {
namespace {

struct Tokens {
  std::int64_t input, output, reasoning, cache_read, cache_write;
};

std::string tokens_json(const Tokens& tokens) {
  return JsonObject()
      .number("input", tokens.input)
      .number("output", tokens.output)
      .number("reasoning", tokens.reasoning)
      .number("cache_read", tokens.cache_read)
      .number("cache_write", tokens.cache_write)
      .number(
          "total",
          tokens.input + tokens.output + tokens.reasoning + tokens.cache_read + tokens.cache_write)
      .str();
}

std::uint64_t undrained = 0;

}  // namespace

void JsonObject::set_undrained_bytes(std::uint64_t bytes) {
  undrained = bytes;
}

std::string JsonObject::str() const {
  if (!is_answer_ || undrained == 0) return "{" + fields_ + "}";
  return fmt::format("{{{},\"undrained_bytes\":{}}}", fields_, undrained);
}

void JsonObject::key(std::string_view key) {
  if (!fields_.empty()) fields_.push_back(',');
  append_json_string(fields_, key);
  fields_.push_back(':');
}

JsonObject& JsonObject::text(std::string_view name, std::string_view value) {
  key(name);
  append_json_string(fields_, value);
  return *this;
}

JsonObject& JsonObject::known_text(std::string_view name, std::string_view value) {
  return value.empty() ? *this : text(name, value);
}

JsonObject& JsonObject::number(std::string_view name, std::int64_t value) {
  return raw(name, std::to_string(value));
}

JsonObject& JsonObject::boolean(std::string_view name, bool value) {
  return raw(name, value ? "true" : "false");
}

JsonObject& JsonObject::time(std::string_view name, std::optional<std::int64_t> time_ms) {
  return time_ms ? text(name, format_time(*time_ms)) : *this;
}

JsonObject& JsonObject::texts(std::string_view name, const std::vector<std::string>& values) {
  std::string list = "[";
  for (const auto& value : values) {
    if (list.size() > 1) list.push_back(',');
    append_json_string(list, value);
  }
  return raw(name, list + "]");
}

JsonObject& JsonObject::raw(std::string_view name, std::string_view json) {
  key(name);
  fields_ += json;
  return *this;
}

JsonObject& JsonObject::money(std::string_view name, std::int64_t nanos) {
  number(fmt::format("{}_nanos", name), nanos);
  return raw(name, nanos_to_decimal(nanos));
}

std::string spent_tokens_json(const fb::UsageRowT& usage) {
  return tokens_json(
      {usage.input, usage.output, usage.reasoning, usage.cache_read, usage.cache_write});
}

std::string visible_tokens_json(const fb::UsageRowT& usage) {
  return tokens_json({usage.visible_input,
                      usage.visible_output,
                      usage.visible_reasoning,
                      usage.visible_cache_read,
                      usage.visible_cache_write});
}

std::int64_t spent_tokens(const fb::UsageRowT& usage) {
  return usage.input + usage.output + usage.reasoning + usage.cache_read + usage.cache_write;
}

}  // namespace respool
