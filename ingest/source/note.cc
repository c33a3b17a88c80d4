#include "ingest/source/note.h"

#include "schema/opencode/json_text.h"

namespace respool {

Note::Note(std::string_view type, std::int64_t timestamp_ms) {
  json_ = "{\"type\":";
  append_json_string(json_, type);
  number("timestamp", timestamp_ms);
}

void Note::key(std::string_view name) {
  json_.push_back(',');
  append_json_string(json_, name);
  json_.push_back(':');
}

Note& Note::text(std::string_view name, std::string_view value) {
  if (value.empty()) return *this;
  key(name);
  append_json_string(json_, value);
  return *this;
}

Note& Note::texts(std::string_view name, const std::vector<std::string>& values) {
  std::string list = "[";
  for (const auto& value : values) {
    if (list.size() > 1) list.push_back(',');
    append_json_string(list, value);
  }
  return raw(name, list + "]");
}

Note& Note::number(std::string_view name, std::int64_t value) {
  return raw(name, std::to_string(value));
}

Note& Note::boolean(std::string_view name, bool value) {
  return raw(name, value ? "true" : "false");
}

Note& Note::raw(std::string_view name, std::string_view json) {
  key(name);
  json_ += json;
  return *this;
}

}  // namespace respool
