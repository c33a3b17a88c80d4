#include "schema/opencode/decode_part.h"

#include <algorithm>
#include <array>
#include <utility>

#include "schema/digest.h"
#include "schema/money.h"
#include "schema/opencode/json_text.h"

namespace respool::decode_detail {
namespace {

using json::each_element;
using json::each_field;
using json::Object;
using json::object_of;
using json::Value;

// Walks an object; a break is noted.
template <class Visit>
void walk(Value& value, Notes& notes, Visit&& visit) {
  if (auto object = object_of(value)) {
    if (!each_field(*object, visit)) notes.broken = true;
  }
}

template <class Visit>
void walk(Object object, Notes& notes, Visit&& visit) {
  if (!each_field(object, visit)) notes.broken = true;
}

fb::PartType part_type(std::string_view name) {
  constexpr auto kTypes = std::to_array<std::pair<std::string_view, fb::PartType>>({
      {"text", fb::PartType::Text},
      {"tool", fb::PartType::Tool},
      {"step-start", fb::PartType::StepStart},
      {"step-finish", fb::PartType::StepFinish},
      {"reasoning", fb::PartType::Reasoning},
      {"patch", fb::PartType::Patch},
      {"file", fb::PartType::File},
      {"compaction", fb::PartType::Compaction},
      {"snapshot", fb::PartType::Snapshot},
      {"agent", fb::PartType::Agent},
      {"subtask", fb::PartType::Subtask},
      {"retry", fb::PartType::Retry},
  });
  for (const auto& [wire, type] : kTypes) {
    if (wire == name) return type;
  }
  return fb::PartType::Unknown;
}

fb::ToolStatus tool_status(std::string_view name) {
  if (name == "completed") return fb::ToolStatus::Completed;
  if (name == "running") return fb::ToolStatus::Running;
  if (name == "pending") return fb::ToolStatus::Pending;
  if (name == "error") return fb::ToolStatus::Error;
  return fb::ToolStatus::Unknown;
}

// What a tool's input says before it is known which tool it is.
struct ToolInput {
  std::string file_path;
  std::string attempted;
  std::vector<std::string> patched;
};

void set_content(fb::PartRowT& part, std::string_view raw) {
  part.text_bytes = json::unescaped_bytes(raw);
  part.content_hash = content_hash(raw);
}

// The files an apply_patch text names, with what happens to them.
void read_patch_text(std::string_view text, std::vector<std::unique_ptr<fb::FileTouchT>>& files) {
  constexpr auto kMarks = std::to_array<std::pair<std::string_view, fb::FileAction>>({
      {"*** Add File: ", fb::FileAction::Write},
      {"*** Update File: ", fb::FileAction::Patch},
      {"*** Delete File: ", fb::FileAction::Delete},
  });
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    for (const auto& [mark, action] : kMarks) {
      if (!line.starts_with(mark)) continue;
      auto touch = std::make_unique<fb::FileTouchT>();
      touch->path = line.substr(mark.size());
      touch->action = action;
      files.push_back(std::move(touch));
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

void read_input(Value& value, fb::PartRowT& part, ToolInput& input, Notes& notes) {
  auto object = object_of(value);
  if (!object) {
    part.input_digest = to_hex(as_bytes(sha256(minify_json(json::raw_json(value)))));
    return;
  }
  std::string_view raw;
  if (object->raw_json().get(raw)) {
    notes.broken = true;
    return;
  }
  part.input_digest = to_hex(as_bytes(sha256(minify_json(raw))));
  if (object->reset().error()) return;
  walk(*object, notes, [&](std::string_view key, Value field) {
    if (key == "filePath" || key == "file_path") {
      input.file_path = json::text(field, 4096);
    } else if (key == "tool") {
      input.attempted = json::text(field, kNameBytes);
    } else if (key == "patchText") {
      read_patch_text(json::text(field), part.files);
    }
  });
}

void read_metadata(Value& value, fb::PartRowT& part, Notes& notes) {
  walk(value, notes, [&](std::string_view key, Value field) {
    if (key == "exit") {
      const auto code = json::integer(field);
      const bool null = json::token(field) == "null";
      part.exit_state = code   ? fb::ExitState::Number
                        : null ? fb::ExitState::Null
                               : fb::ExitState::Absent;
      part.exit = code.value_or(0);
    } else if (key == "sessionId") {
      part.child_session = json::text(field, 256);
    } else if (key == "outputPath") {
      part.output_path = json::text(field, 4096);
    } else if (key == "truncated") {
      part.truncated = json::is_true(field);
    } else if (key == "compaction_continue") {
      part.continuation = json::is_true(field);
    }
  });
}

void read_state_time(Value& value, fb::PartRowT& part, Notes& notes) {
  part.start_ms = part.end_ms = flatbuffers::nullopt;
  walk(value, notes, [&](std::string_view key, Value field) {
    const auto time = json::time_ms(field);
    notes.saw_time(time);
    if (key == "start" || key == "created") part.start_ms = time;
    if (key == "end") part.end_ms = time;
    if (key == "compacted") part.compacted_ms = time;
  });
}

void read_output(Value& value, fb::PartRowT& part) {
  const auto raw = json::raw_string(value);
  if (!raw) return;
  part.output_bytes = json::unescaped_bytes(*raw);
  part.content_hash = content_hash(*raw);
  constexpr std::size_t kNoticeBytes = 400;
  const std::string_view tail = raw->substr(raw->size() - std::min(raw->size(), kNoticeBytes));
  part.aborted = tail.find("User aborted the command") != std::string_view::npos;
}

void read_tool_state(Value& value, fb::PartRowT& part, ToolInput& input, Notes& notes) {
  walk(value, notes, [&](std::string_view key, Value field) {
    if (key == "status") {
      const std::string name = json::text(field, kNameBytes);
      part.status = tool_status(name);
      part.status_name = part.status == fb::ToolStatus::Unknown ? name : "";
    } else if (key == "input") {
      read_input(field, part, input, notes);
    } else if (key == "output") {
      read_output(field, part);
    } else if (key == "title") {
      part.title = json::text(field, kErrorTextBytes);
    } else if (key == "error") {
      part.error_text = json::text(field, kErrorTextBytes);
    } else if (key == "metadata") {
      read_metadata(field, part, notes);
    } else if (key == "time") {
      read_state_time(field, part, notes);
    }
  });
}

// Forgets what an earlier state said: of two equal keys the last one counts.
void reset_state(fb::PartRowT& part) {
  const fb::PartRowT none;
  part.status = none.status;
  part.status_name.clear();
  part.start_ms = part.end_ms = part.compacted_ms = flatbuffers::nullopt;
  part.input_digest.clear();
  part.output_bytes = part.content_hash = 0;
  part.aborted = part.truncated = false;
  part.title.clear();
  part.error_text.clear();
  part.exit = 0;
  part.exit_state = none.exit_state;
  part.output_path.clear();
  part.child_session.clear();
}

void touch(fb::PartRowT& part, const std::string& path, fb::FileAction action) {
  auto touched = std::make_unique<fb::FileTouchT>();
  touched->path = path;
  touched->action = action;
  part.files.push_back(std::move(touched));
}

// What needed the tool's name and its input together.
void finish_tool(fb::PartRowT& part, const ToolInput& input, Notes& notes) {
  if (part.tool == "invalid") part.attempted = input.attempted;
  if (!input.file_path.empty()) {
    if (part.tool == "read") touch(part, input.file_path, fb::FileAction::Read);
    if (part.tool == "write") touch(part, input.file_path, fb::FileAction::Write);
    if (part.tool == "edit" || part.tool == "multiedit")
      touch(part, input.file_path, fb::FileAction::Edit);
    if (part.tool == "patch") touch(part, input.file_path, fb::FileAction::Patch);
  }
  if (part.status == fb::ToolStatus::Unknown)
    notes.problem(kUnknownVariant, "tool status " + part.status_name);
}

void read_message_model(Value& value, Info& info, Notes& notes) {
  walk(value, notes, [&](std::string_view key, Value field) {
    if (key == "id" || key == "modelID") info.as_session.model = json::text(field, kNameBytes);
    if (key == "providerID") info.as_session.provider = json::text(field, kNameBytes);
    if (key == "variant") info.as_message.variant = json::text(field, kNameBytes);
  });
  info.as_message.model = info.as_session.model;
  info.as_message.provider = info.as_session.provider;
}

void read_info_time(Value& value, Info& info, Notes& notes) {
  walk(value, notes, [&](std::string_view key, Value field) {
    const auto time = json::time_ms(field);
    notes.saw_time(time);
    if (key == "created") info.as_session.created_ms = info.as_message.created_ms = time;
    if (key == "updated") info.as_session.updated_ms = time;
    if (key == "completed") info.as_message.completed_ms = time;
    if (key == "archived") info.as_session.archived_ms = time;
  });
}

void read_revert(Value& value, fb::SessionRowT& session, Notes& notes) {
  walk(value, notes, [&](std::string_view key, Value field) {
    if (key == "messageID") session.revert_message = json::text(field, kNameBytes);
    if (key == "partID") session.revert_part = json::text(field, kNameBytes);
  });
}

// The fields of `info` that are plain texts: where each goes.
bool read_info_text(std::string_view key, Value& field, Info& info) {
  auto& session = info.as_session;
  auto& message = info.as_message;
  if (key == "id") {
    info.id = json::text(field, 256);
  } else if (key == "sessionID") {
    info.session = json::text(field, 300);
  } else if (key == "role") {
    message.role = json::text(field, kNameBytes);
    info.has_role = true;
  } else if (key == "title") {
    session.title = json::text(field, 4096);
  } else if (key == "directory") {
    session.directory = json::text(field, 4096);
  } else if (key == "projectID") {
    session.project = json::text(field, kNameBytes);
  } else if (key == "parentID") {
    session.parent = message.parent = json::text(field, 256);
  } else if (key == "version") {
    session.opencode_version = json::text(field, kNameBytes);
  } else if (key == "agent") {
    session.agent = message.agent = json::text(field, kNameBytes);
  } else if (key == "mode") {
    message.mode = json::text(field, kNameBytes);
  } else if (key == "modelID") {
    message.model = json::text(field, kNameBytes);
  } else if (key == "providerID") {
    message.provider = json::text(field, kNameBytes);
  } else if (key == "variant") {
    message.variant = json::text(field, kNameBytes);
  } else if (key == "finish") {
    message.finish = json::text(field, kNameBytes);
  } else {
    return false;
  }
  return true;
}

}  // namespace

std::optional<std::int64_t> read_cost(Value value, Notes& notes) {
  const auto nanos = nanos_from_decimal(json::number_token(value));
  if (!nanos && json::token(value) != "null") notes.problem(kUnknownVariant, "cost");
  return nanos;
}

void read_tokens(Value value, bool& has_tokens, fb::TokenCounts& tokens, Notes& notes) {
  const auto count = [&](Value& field) -> std::int64_t {
    constexpr std::int64_t kMaxTokens = (std::int64_t{1} << 31) - 1;
    const auto number = json::integer(field);
    if (number && *number >= 0 && *number <= kMaxTokens) return *number;
    notes.problem(kUnknownVariant, "tokens");
    return 0;
  };
  tokens = fb::TokenCounts();
  walk(value, notes, [&](std::string_view key, Value field) {
    has_tokens = true;
    if (key == "input") tokens.mutate_input(count(field));
    if (key == "output") tokens.mutate_output(count(field));
    if (key == "reasoning") tokens.mutate_reasoning(count(field));
    if (key == "cache") {
      walk(field, notes, [&](std::string_view cache_key, Value cached) {
        if (cache_key == "read") tokens.mutate_cache_read(count(cached));
        if (cache_key == "write") tokens.mutate_cache_write(count(cached));
      });
    }
  });
}

ErrorBody read_error(Value value, Notes& notes) {
  ErrorBody error;
  if (json::raw_string(value)) {
    error.text = json::text(value, kErrorTextBytes);
    error.name = "UnknownError";
    return error;
  }
  std::string outer;
  walk(value, notes, [&](std::string_view key, Value field) {
    if (key == "name" || key == "type") error.name = json::text(field, kNameBytes);
    if (key == "message") outer = json::text(field, kErrorTextBytes);
    if (key == "data") {
      walk(field, notes, [&](std::string_view data_key, Value data) {
        if (data_key == "message") error.text = json::text(data, kErrorTextBytes);
        if (data_key == "statusCode") error.status_code = json::integer(data);
      });
    }
  });
  if (error.name.empty()) error.name = "UnknownError";
  if (error.text.empty()) error.text = outer.empty() ? error.name : outer;
  return error;
}

void read_info(Object object, Info& info, Notes& notes) {
  walk(object, notes, [&](std::string_view key, Value field) {
    if (read_info_text(key, field, info)) return;
    if (key == "model") {
      read_message_model(field, info, notes);
    } else if (key == "time") {
      read_info_time(field, info, notes);
    } else if (key == "cost") {
      info.as_session.cost_nanos = info.as_message.cost_nanos = read_cost(field, notes);
    } else if (key == "tokens") {
      read_tokens(field, info.as_session.has_tokens, info.as_session.tokens, notes);
      info.as_message.has_tokens = info.as_session.has_tokens;
      info.as_message.tokens = info.as_session.tokens;
    } else if (key == "path") {
      info.as_session.path = json::text(field, 4096);
      walk(field, notes, [&](std::string_view path_key, Value path) {
        if (path_key == "cwd") info.as_message.cwd = json::text(path, 4096);
      });
    } else if (key == "error") {
      const ErrorBody error = read_error(field, notes);
      info.as_message.error_name = error.name;
      info.as_message.error_text = error.text;
    } else if (key == "summary") {
      info.as_message.summary = json::is_true(field);
    } else if (key == "revert") {
      read_revert(field, info.as_session, notes);
    }
  });
}

void read_part(Object object, fb::PartRowT& part, std::string& session, Notes& notes) {
  ToolInput input;
  std::string url_raw;
  walk(object, notes, [&](std::string_view key, Value field) {
    if (key == "id") {
      part.id = json::text(field, 256);
    } else if (key == "messageID") {
      part.message = json::text(field, 256);
    } else if (key == "sessionID") {
      session = json::text(field, 300);
    } else if (key == "type") {
      const std::string name = json::text(field, kNameBytes);
      part.type = part_type(name);
      part.type_name = part.type == fb::PartType::Unknown ? name : "";
    } else if (key == "text" || key == "prompt") {
      if (const auto raw = json::raw_string(field)) set_content(part, *raw);
    } else if (key == "time") {
      read_state_time(field, part, notes);
    } else if (key == "state") {
      reset_state(part);
      input = ToolInput();
      read_tool_state(field, part, input, notes);
    } else if (key == "metadata") {
      read_metadata(field, part, notes);
    } else if (key == "tokens") {
      read_tokens(field, part.has_tokens, part.tokens, notes);
    } else if (key == "cost") {
      part.cost_nanos = read_cost(field, notes);
    } else if (key == "tool") {
      part.tool = json::text(field, kNameBytes);
    } else if (key == "callID") {
      part.call = json::text(field, kNameBytes);
    } else if (key == "reason") {
      part.reason = json::text(field, kNameBytes);
    } else if (key == "synthetic") {
      part.synthetic = json::is_true(field);
    } else if (key == "ignored") {
      part.ignored = json::is_true(field);
    } else if (key == "auto") {
      part.automatic = json::is_true(field);
    } else if (key == "overflow") {
      part.overflow = json::is_true(field);
    } else if (key == "hash" || key == "snapshot") {
      part.hash = json::text(field, kNameBytes);
    } else if (key == "tail_start_id") {
      part.tail_start = json::text(field, kNameBytes);
    } else if (key == "mime") {
      part.mime = json::text(field, kNameBytes);
    } else if (key == "filename") {
      part.filename = json::text(field, 4096);
    } else if (key == "url") {
      if (const auto raw = json::raw_string(field)) set_content(part, *raw);
    } else if (key == "error") {
      part.error_text = read_error(field, notes).text;
    } else if (key == "files") {
      part.files.clear();
      if (auto files = json::array_of(field)) {
        const bool whole = each_element(*files, [&](Value file) {
          touch(part, json::text(file, 4096), fb::FileAction::Patch);
        });
        if (!whole) notes.broken = true;
      }
    }
  });
  if (part.type == fb::PartType::Tool) finish_tool(part, input, notes);
  if (part.type == fb::PartType::Unknown)
    notes.problem(kUnknownVariant, "part type " + part.type_name);
}

}  // namespace respool::decode_detail
