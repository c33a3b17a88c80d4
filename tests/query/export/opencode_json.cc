#include "tests/query/export/opencode_json.h"

#include <algorithm>

#include <catch2/catch.hpp>

#include "schema/opencode/json_fields.h"
#include "schema/opencode/json_text.h"

namespace respool::test {

std::string sorted_json(std::string_view json) {
  std::string out;
  if (const auto object = JsonFields::parse(json)) {
    std::vector<std::string> fields;
    for (const auto& [key, value] : object->fields())
      fields.push_back("\"" + key + "\":" + sorted_json(value));
    std::sort(fields.begin(), fields.end());
    for (const auto& field : fields)
      out += (out.empty() ? "" : ",") + field;
    return "{" + out + "}";
  }
  if (const auto elements = split_json_array(json)) {
    for (const auto& element : *elements)
      out += (out.empty() ? "" : ",") + sorted_json(element);
    return "[" + out + "]";
  }
  return minify_json(json);
}

std::vector<ExportedFile::Message> read_exported_messages(std::string_view json) {
  std::vector<ExportedFile::Message> messages;
  const auto list = split_json_array(json);
  REQUIRE(list);
  for (const auto& element : *list) {
    const auto message = JsonFields::parse(element);
    REQUIRE(message);
    ExportedFile::Message read{sorted_json(message->get("info").value_or("")), {}};
    const auto parts = split_json_array(message->get("parts").value_or(""));
    REQUIRE(parts);
    for (const auto& part : *parts)
      read.parts.push_back(sorted_json(part));
    messages.push_back(std::move(read));
  }
  return messages;
}

ExportedFile read_exported(std::string_view json) {
  const auto file = JsonFields::parse(json);
  REQUIRE(file);
  return {sorted_json(file->get("info").value_or("")),
          read_exported_messages(file->get("messages").value_or(""))};
}

std::string json_at(std::string_view json, std::string_view path) {
  std::string value(json);
  while (!path.empty()) {
    const auto slash = std::min(path.find('/'), path.size());
    const auto object = JsonFields::parse(value);
    const auto found = object ? object->get(path.substr(0, slash)) : std::nullopt;
    if (!found) return "";
    value = std::string(*found);
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  return value;
}

std::string text_at(std::string_view json, std::string_view path) {
  const std::string quoted = json_at(json, path);
  return quoted.size() < 2 ? "" : quoted.substr(1, quoted.size() - 2);
}

}  // namespace respool::test
