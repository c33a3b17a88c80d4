#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schema/codec.h"

namespace respool {

// Builds one JSON object, field by field, in the order they are added.
class JsonObject {
 public:
  JsonObject() = default;
  // An answer of its own, with its schema.
  explicit JsonObject(std::string_view schema) : is_answer_(true) { text("schema", schema); }

  // How many bytes wait in the spool, which this process could not take in: every answer says so.
  static void set_undrained_bytes(std::uint64_t bytes);

  JsonObject& text(std::string_view key, std::string_view value);
  // Absent means unknown: an empty text is left out.
  JsonObject& known_text(std::string_view key, std::string_view value);
  JsonObject& number(std::string_view key, std::int64_t value);
  JsonObject& boolean(std::string_view key, bool value);
  // RFC 3339; left out where there is no time.
  JsonObject& time(std::string_view key, std::optional<std::int64_t> time_ms);
  JsonObject& texts(std::string_view key, const std::vector<std::string>& values);
  // `json` is JSON already.
  JsonObject& raw(std::string_view key, std::string_view json);
  // key_nanos as an integer and key as decimal dollars.
  JsonObject& money(std::string_view key, std::int64_t nanos);

  std::string str() const;

 private:
  void key(std::string_view key);
  std::string fields_;
  bool is_answer_ = false;
};

// {"input":..., "output":..., "reasoning":..., "cache_read":..., "cache_write":..., "total":...}
std::string spent_tokens_json(const fb::UsageRowT& usage);
std::string visible_tokens_json(const fb::UsageRowT& usage);
std::int64_t spent_tokens(const fb::UsageRowT& usage);

// A FlatBuffers optional as the standard's.
template <class Optional>
std::optional<std::int64_t> maybe(const Optional& value) {
  return value ? std::optional<std::int64_t>(*value) : std::nullopt;
}

}  // namespace respool
