#include "schema/opencode/gather.h"

#include <string_view>

#include "schema/digest.h"

namespace respool::decode_detail {
namespace {

using json::each_element;
using json::each_field;
using json::Object;
using json::Value;

void add_text(std::vector<std::string>& list, Value& value) {
  constexpr std::size_t kTextBytes = 400;
  constexpr std::size_t kMaxTexts = 64;
  if (list.size() < kMaxTexts) list.push_back(json::text(value, kTextBytes));
}

// Texts of an array; a nested array (the labels of one question) becomes one text.
void read_texts(Value& value, std::vector<std::string>& list, Notes& notes) {
  list.clear();
  auto array = json::array_of(value);
  if (!array) {
    if (json::raw_string(value)) add_text(list, value);
    return;
  }
  const bool whole = each_element(*array, [&](Value element) {
    auto labels = json::array_of(element);
    if (!labels) return add_text(list, element);
    std::string joined;
    const bool inner = each_element(*labels, [&](Value label) {
      if (!joined.empty()) joined += ", ";
      joined += json::text(label, 200);
    });
    if (!inner) notes.broken = true;
    list.push_back(joined);
  });
  if (!whole) notes.broken = true;
}

template <class Visit>
void walk(Value& value, Notes& notes, Visit&& visit) {
  if (auto object = json::object_of(value)) {
    if (!each_field(*object, visit)) notes.broken = true;
  }
}

void read_questions(Value& value, Gathered& all) {
  all.ask.row.patterns.clear();
  auto array = json::array_of(value);
  if (!array) return;
  const bool whole = each_element(*array, [&](Value question) {
    walk(question, all.notes, [&](std::string_view key, Value field) {
      if (key == "question") add_text(all.ask.row.patterns, field);
    });
  });
  if (!whole) all.notes.broken = true;
}

void read_todos(Value& value, Gathered& all) {
  all.todos = TodosBody();
  auto array = json::array_of(value);
  if (!array) return;
  const bool whole = each_element(*array, [&](Value todo) {
    ++all.todos.count;
    walk(todo, all.notes, [&](std::string_view key, Value field) {
      if (key == "status" && json::raw_string(field) == "completed") ++all.todos.done;
    });
  });
  if (!whole) all.notes.broken = true;
}

// The fields of a body that belong to permission requests, questions and their answers.
bool read_ask_field(std::string_view key, Value& field, Gathered& all) {
  auto& row = all.ask.row;
  if (key == "permission" || key == "action") {
    row.permission = json::text(field, kNameBytes);
  } else if (key == "patterns" || key == "pattern" || key == "resources") {
    read_texts(field, row.patterns, all.notes);
  } else if (key == "always" || key == "save") {
    read_texts(field, row.always, all.notes);
  } else if (key == "tool" || key == "source") {
    walk(field, all.notes, [&](std::string_view tool_key, Value tool) {
      if (tool_key == "messageID") row.message = json::text(tool, 256);
      if (tool_key == "callID") row.call = json::text(tool, kNameBytes);
    });
  } else if (key == "callID") {
    row.call = json::text(field, kNameBytes);
  } else if (key == "type") {
    if (row.permission.empty()) row.permission = json::text(field, kNameBytes);  // OpenCode 1.1
  } else if (key == "requestID" || key == "permissionID") {
    row.id = json::text(field, 256);
  } else if (key == "reply" || key == "response") {
    row.reply = json::text(field, kNameBytes);
  } else if (key == "answers") {
    read_texts(field, row.answers, all.notes);
  } else if (key == "questions") {
    read_questions(field, all);
  } else {
    return false;
  }
  return true;
}

void read_body_field(std::string_view key, Value& field, Gathered& all) {
  if (key == "sessionID") {
    all.body_session = json::text(field, 300);
  } else if (key == "info") {
    if (auto object = json::object_of(field)) {
      all.has_info = true;
      all.info = Info();  // of two equal keys the last one counts
      read_info(*object, all.info, all.notes);
    }
  } else if (key == "part") {
    if (auto object = json::object_of(field)) {
      all.has_part = true;
      all.part = fb::PartRowT();
      all.part_session.clear();
      read_part(*object, all.part, all.part_session, all.notes);
    }
  } else if (key == "time" || key == "timestamp") {
    all.body_time = json::time_ms(field);
  } else if (key == "id") {
    all.body_id = json::text(field, 256);
  } else if (key == "messageID") {
    all.removed.message = json::text(field, 256);
  } else if (key == "partID") {
    all.removed.part = json::text(field, 256);
  } else if (key == "status") {
    walk(field, all.notes, [&](std::string_view status_key, Value status) {
      if (status_key == "type") all.status = json::text(status, kNameBytes);
    });
  } else if (key == "error") {
    all.has_error = true;
    all.error = read_error(field, all.notes);
  } else if (key == "todos") {
    read_todos(field, all);
  } else if (key == "name") {
    all.command.name = json::text(field, kNameBytes);
  } else if (key == "text") {
    if (const auto raw = json::raw_string(field))
      all.prompt = {json::unescaped_bytes(*raw), content_hash(*raw)};
  } else {
    read_ask_field(key, field, all);
  }
}

void read_body(Value& value, Gathered& all) {
  walk(value, all.notes, [&](std::string_view key, Value field) {
    read_body_field(key, field, all);
  });
}

}  // namespace

void read_envelope(Object object, Gathered& all, int depth) {
  // A sync event in a payload is the deepest there is; what nests further is hostile.
  constexpr int kMaxDepth = 4;
  if (depth > kMaxDepth) {
    all.notes.broken = true;
    return;
  }
  const bool whole = each_field(object, [&](std::string_view key, Value field) {
    if (key == "type") {
      const std::string type = json::text(field, kNameBytes);
      if (type == "sync") {
        all.has_sync = true;
      } else {
        all.type = type;
      }
    } else if (key == "timestamp" || key == "created") {
      all.has_timestamp = true;
      all.timestamp = json::time_ms(field);
    } else if (key == "sessionID") {
      all.outer_session = json::text(field, 300);
    } else if (key == "aggregate_id" || key == "aggregateID") {
      all.has_aggregate = true;
      all.outer_session = json::text(field, 300);
    } else if (key == "id") {
      all.event_id = json::text(field, 256);
    } else if (key == "seq") {
      const auto number = json::integer(field);
      if (number && *number >= 0) all.sequence = static_cast<std::uint64_t>(*number);
    } else if (key == "properties") {
      all.has_properties = true;
      read_body(field, all);
    } else if (key == "data") {
      all.has_data = true;
      read_body(field, all);
    } else if (key == "payload" || key == "syncEvent") {
      (key == "payload" ? all.has_payload : all.has_sync) = true;
      if (auto inner = json::object_of(field)) read_envelope(*inner, all, depth + 1);
    } else if (key == "durable") {
      walk(field, all.notes, [&](std::string_view durable_key, Value durable) {
        if (durable_key == "aggregateID") all.outer_session = json::text(durable, 300);
        if (durable_key != "seq") return;
        const auto number = json::integer(durable);
        if (number && *number >= 0) all.sequence = static_cast<std::uint64_t>(*number);
      });
    } else if (key == "until") {
      all.until_ms = json::time_ms(field);
    } else if (key == "part" || key == "error" || key == "text") {
      read_body_field(key, field, all);
    }
  });
  if (!whole) all.notes.broken = true;
}

}  // namespace respool::decode_detail
