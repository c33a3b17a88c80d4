#include "query/replay/render_message.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "schema/digest.h"
#include "schema/opencode/json_text.h"
#include "schema/time.h"

#include "query/replay/quote.h"

namespace respool {
namespace {

// What elided text keeps of its beginning and its end.
constexpr std::size_t kElidedEndBytes = 200;
constexpr std::size_t kShortBytes = 3 * kElidedEndBytes;
constexpr std::size_t kOneLineBytes = 160;

// A word of respool's own lines. What could be taken for more than one stands as a JSON string.
std::string word(const std::string& text) {
  const bool plain = !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' ||
           c == '-' || c == '.';
  });
  if (plain) return text;
  std::string quoted = escape_line(json_string(text));
  std::replace(quoted.begin(), quoted.end(), ' ', '_');
  return quoted;
}

std::string digest_of(const std::string& text) {
  constexpr std::size_t kShownDigits = 16;
  return to_hex(as_bytes(sha256(text))).substr(0, kShownDigits);
}

bool is_long(const std::string& text) {
  return text.size() > kShortBytes;
}

std::string elide(std::string_view label, const std::string& text) {
  if (!is_long(text)) return quote(label, text);
  const auto lines = std::count(text.begin(), text.end(), '\n') + 1;
  return quote(fmt::format("{}, its beginning", label), clip_front(text, kElidedEndBytes)) +
         quote(fmt::format("{}, its end; {} bytes, {} lines in all, sha256 {}",
                           label,
                           text.size(),
                           lines,
                           digest_of(text)),
               clip_back(text, kElidedEndBytes));
}

std::string outcome_note(const TranscriptItem& item) {
  if (!item.outcome) return "outcome unknown";
  std::string note(outcome_name(*item.outcome));
  if (item.exit) note += fmt::format(", exit {}", *item.exit);
  if (*item.outcome == ToolOutcome::Withheld) note += ": the tool was not offered, nothing ran";
  if (*item.outcome == ToolOutcome::Refused) note += ": nothing ran";
  if (may_have_taken_effect(item)) note += ": interrupted, it may have taken effect";
  return note;
}

std::string render_tool(const TranscriptItem& item, Fidelity fidelity) {
  std::string text = fmt::format(
      "tool {} {}, input sha256 {}", word(item.tool), outcome_note(item), digest_of(item.input));
  if (!item.child_session.empty())
    text += fmt::format(", child session {}", word(item.child_session));
  text.push_back('\n');
  if (fidelity == Fidelity::Verbatim)
    return text + quote("input", item.input) + quote("output", item.text);
  return text + elide("input", item.input) + elide("output", item.text);
}

std::string render_file(const TranscriptItem& item) {
  std::string line =
      fmt::format("file, {}", item.mime.empty() ? "of unknown type" : word(item.mime));
  if (item.bytes > 0)
    line +=
        fmt::format(", {} bytes as a data URL, sha256 {}", item.bytes, item.digest.substr(0, 16));
  std::string name = item.title;
  if (!item.url.empty()) name += name.empty() ? item.url : fmt::format(" ({})", item.url);
  return fmt::format("{}\n| {}\n", line, escape_line(name));
}

// The label of what is said; the first text of a message needs none.
std::string label_of(const TranscriptItem& item, bool first) {
  if (item.kind == "reasoning") return "reasoning";
  if (item.kind == "error") return fmt::format("error {}", word(item.title));
  if (item.kind == "command") return fmt::format("command {}", word(item.title));
  if (item.kind == "subtask") return "asked a subagent";
  if (item.summary) return "summary of everything before";
  return first ? "" : "text";
}

std::string render_item(const TranscriptItem& item, Fidelity fidelity, bool first) {
  if (item.kind == "tool") return render_tool(item, fidelity);
  if (item.kind == "file") return render_file(item);
  const std::string label = label_of(item, first);
  if (item.text.empty()) return label.empty() || label == "text" ? "" : label + "\n";
  // What OpenCode attached for the user is a tool's output in all but name.
  const bool attached = item.synthetic && item.role == "user";
  if (attached && fidelity != Fidelity::Verbatim && is_long(item.text))
    return elide(label.empty() ? "text" : label, item.text);
  return quote(label, item.text);
}

std::string count_tools(const ReplayMessage& message) {
  std::map<std::string, std::size_t> outcomes;
  std::size_t tools = 0;
  for (const auto* item : message.items) {
    if (item->kind != "tool") continue;
    ++tools;
    ++outcomes[item->outcome ? std::string(outcome_name(*item->outcome)) : "unknown"];
  }
  if (tools == 0) return {};
  std::string line = fmt::format("tools {}:", tools);
  for (const auto& [outcome, count] : outcomes)
    line += fmt::format(" {} {}", count, outcome);
  return line + "\n";
}

bool is_said(const TranscriptItem& item) {
  return item.kind != "tool" && item.kind != "reasoning" && item.kind != "file" &&
         !(item.synthetic && item.role == "user");
}

std::string_view first_line(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  return text.substr(0, text.find('\n'));
}

std::string render_one_line(const ReplayMessage& message) {
  for (const auto* item : message.items) {
    if (!is_said(*item) || item->text.empty()) continue;
    const std::string_view begin = clip_front(first_line(item->text), kOneLineBytes);
    const std::string label = begin.size() == item->text.size()
                                  ? ""
                                  : fmt::format("the beginning of {} bytes\n", item->text.size());
    return fmt::format("{}| {}\n", label, escape_line(begin)) + count_tools(message);
  }
  return count_tools(message);
}

std::string header(const ReplayMessage& message) {
  const auto& item = message.first();
  std::string line = fmt::format("\n{} {} {}",
                                 item.synthetic && item.role == "user" ? "attached" : item.role,
                                 item.message.empty() ? "-" : word(item.message),
                                 item.time_ms ? format_time(*item.time_ms) : "-");
  if (!item.child_of.empty()) line += fmt::format(" in child session {}", word(item.child_of));
  return line + "\n";
}

}  // namespace

std::string_view fidelity_name(Fidelity fidelity) {
  switch (fidelity) {
    case Fidelity::Verbatim:
      return "verbatim";
    case Fidelity::Elided:
      return "elided";
    case Fidelity::TextOnly:
      return "text_only";
    case Fidelity::OneLine:
      return "one_line";
  }
  return "verbatim";
}

bool may_have_taken_effect(const TranscriptItem& item) {
  return item.kind == "tool" &&
         (item.outcome == ToolOutcome::Aborted || item.outcome == ToolOutcome::Orphaned ||
          item.outcome == ToolOutcome::Running);
}

std::string render_message(const ReplayMessage& message, Fidelity fidelity) {
  std::string text = header(message);
  if (fidelity == Fidelity::OneLine) return text + render_one_line(message);
  bool first = true;
  for (const auto* item : message.items) {
    const bool shown = fidelity != Fidelity::TextOnly || is_said(*item) || item->kind == "file";
    if (!shown) continue;
    text += render_item(*item, fidelity, first);
    first = false;
  }
  if (fidelity == Fidelity::TextOnly) text += count_tools(message);
  return text;
}

void list_left_out(const ReplayMessage& message, Fidelity fidelity, std::vector<LeftOut>& list) {
  const auto& first = message.first();
  if (fidelity == Fidelity::Verbatim) return;
  if (fidelity == Fidelity::OneLine) {
    list.push_back({first.message, "one_line"});
    return;
  }
  for (const auto* item : message.items) {
    const bool attached = item->synthetic && item->role == "user";
    if (fidelity == Fidelity::TextOnly && item->kind != "file" && !is_said(*item)) {
      list.push_back({item->part, "tools_counted"});
    } else if (fidelity == Fidelity::Elided && item->kind == "tool") {
      if (is_long(item->input)) list.push_back({item->part, "input_elided"});
      if (is_long(item->text)) list.push_back({item->part, "output_elided"});
    } else if (fidelity == Fidelity::Elided && attached && is_long(item->text)) {
      list.push_back({item->part, "output_elided"});
    }
  }
}

}  // namespace respool
