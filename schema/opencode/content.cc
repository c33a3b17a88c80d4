#include <memory>

#include "schema/opencode/json_reader.h"
#include "schema/opencode/json_text.h"
#include "schema/opencode/record.h"

namespace respool {
namespace {

using json::each_field;
using json::Object;
using json::Value;

template <class Visit>
void walk(Value& value, Visit&& visit) {
  if (auto object = json::object_of(value)) each_field(*object, visit);
}

void read_state(Value& value, Content& content) {
  walk(value, [&](std::string_view key, Value field) {
    if (key == "input") content.input = minify_json(json::raw_json(field));
    if (key == "output") content.output = json::text(field);
    if (key == "error") content.error = json::text(field);
  });
}

void read_part(Object object, Content& content) {
  each_field(object, [&](std::string_view key, Value field) {
    if (key == "text") content.text = json::text(field);
    if (key == "state") read_state(field, content);
    if (key == "url") content.url = json::text(field);
    if (key == "prompt" || key == "description") content.description = json::text(field);
  });
}

// Looks through the envelopes for the part, or for the body's own texts.
void read_envelope(Object object, Content& content, int depth = 0) {
  constexpr int kMaxDepth = 4;
  if (depth > kMaxDepth) return;
  each_field(object, [&](std::string_view key, Value field) {
    if (key == "part") {
      if (auto part = json::object_of(field)) read_part(*part, content);
    } else if (key == "properties" || key == "data" || key == "payload" || key == "syncEvent") {
      if (auto inner = json::object_of(field)) read_envelope(*inner, content, depth + 1);
    } else if (key == "text") {
      content.text = json::text(field);
    } else if (key == "arguments") {
      content.description = json::text(field);
    }
  });
}

}  // namespace

FileChange decode_file_change(std::string_view tool_input) {
  FileChange change;
  thread_local auto json = std::make_unique<json::Reader>();
  if (!json->load(tool_input)) return change;
  const auto object = json->object();
  if (!object) return change;
  each_field(*object, [&](std::string_view key, Value field) {
    if (key == "filePath") change.path = json::text(field);
    if (key == "content") change.content = json::text(field);
    if (key == "oldString") change.old_text = json::text(field);
    if (key == "newString") change.new_text = json::text(field);
    if (key == "replaceAll") change.everywhere = json::is_true(field);
  });
  return change;
}

Content decode_content(std::string_view raw, Shape shape) {
  Content content;
  thread_local auto json = std::make_unique<json::Reader>();
  if (raw.size() > kDecodeLimitBytes || !json->load(raw)) return content;
  const auto object = json->object();
  if (!object) return content;
  if (shape == Shape::DatabaseRow) {
    each_field(*object, [&](std::string_view key, Value field) {
      if (key != "data") return;
      if (auto part = json::object_of(field)) read_part(*part, content);
    });
    return content;
  }
  if (shape == Shape::ExportPart) {
    read_part(*object, content);
  } else {
    read_envelope(*object, content);
  }
  return content;
}

}  // namespace respool
