#include "query/replay/markdown.h"

#include <algorithm>

#include <fmt/format.h>

#include "schema/opencode/plain_text.h"
#include "schema/time.h"

#include "query/replay/render_message.h"

namespace respool {
namespace {

// Outputs above this are folded away.
constexpr std::size_t kFoldedBytes = 600;

std::string_view take_line(std::string_view& text) {
  const auto end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

// The length of the run of backticks or tildes that opens or closes a code block, 0 for none.
std::size_t fence_length(std::string_view line) {
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  if (line.empty() || (line.front() != '`' && line.front() != '~')) return 0;
  const auto length = std::min(line.find_first_not_of(line.front()), line.size());
  return length >= 3 ? length : 0;
}

// A fence longer than any in the text.
std::string code_block(std::string_view text, std::string_view language) {
  const std::string plain = plain_text(text);
  std::size_t longest = 2;
  std::size_t run = 0;
  for (const char c : plain) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  const std::string fence(longest + 1, '`');
  return fmt::format(
      "{}{}\n{}{}{}\n", fence, language, plain, plain.ends_with('\n') ? "" : "\n", fence);
}

std::string code_span(std::string_view text) {
  const std::string line = one_line(text);
  const bool ticks = line.find('`') != std::string::npos;
  return ticks ? fmt::format("`` {} ``", line) : fmt::format("`{}`", line);
}

std::string without_html(std::string_view line) {
  std::string safe;
  for (const char c : line) {
    if (c == '<') {
      safe += "&lt;";
    } else {
      safe.push_back(c);
    }
  }
  return safe;
}

// Text as Markdown, each line behind `margin`. A code block that it leaves open is closed; a
// heading of its own becomes bold, so that the transcript's headings stay what they are.
std::string prose(std::string_view text, std::string_view margin) {
  const std::string plain = plain_text(text);
  std::string_view rest = plain;
  std::string out;
  std::size_t open = 0;
  while (!rest.empty()) {
    const std::string_view line = take_line(rest);
    const std::size_t fence = fence_length(line);
    const bool closes = open > 0 && fence >= open;
    std::string shown = open > 0 || fence > 0 ? std::string(line) : without_html(line);
    if (open == 0 && fence == 0 && shown.starts_with('#')) {
      const auto title = shown.find_first_not_of("# ");
      shown = title == std::string::npos ? "" : fmt::format("**{}**", shown.substr(title));
    }
    open = closes ? 0 : open > 0 ? open : fence;
    out += fmt::format("{}{}\n", margin, shown);
  }
  if (open > 0) out += fmt::format("{}{}\n", margin, std::string(open, '`'));
  return out;
}

std::string folded(std::string_view label, const std::string& text) {
  if (text.empty()) return {};
  if (text.size() <= kFoldedBytes) return code_block(text, "");
  const auto lines = std::count(text.begin(), text.end(), '\n') + 1;
  return fmt::format("<details><summary>{}: {} lines, {} bytes</summary>\n\n{}\n</details>\n",
                     label,
                     lines,
                     text.size(),
                     code_block(text, ""));
}

std::string tool(const TranscriptItem& item) {
  std::string head = fmt::format("**{}**", without_html(one_line(item.tool)));
  if (!item.title.empty()) head += fmt::format(" {}", code_span(item.title));
  head += fmt::format(": {}", item.outcome ? outcome_name(*item.outcome) : "outcome unknown");
  if (item.exit) head += fmt::format(", exit {}", *item.exit);
  if (may_have_taken_effect(item)) head += " (cut off: it may have taken effect)";
  if (!item.child_session.empty())
    head += fmt::format(", child session {}", code_span(item.child_session));
  return fmt::format(
      "{}\n\n{}\n{}", head, code_block(item.input, "json"), folded("output", item.text));
}

std::string body(const TranscriptItem& item) {
  if (item.kind == "tool") return tool(item);
  if (item.kind == "file")
    return fmt::format("Attached: {} ({})\n", code_span(item.title), one_line(item.mime));
  if (item.kind == "compaction")
    return "*The context was compacted here: the model went on from the summary that follows.*\n";
  if (item.kind == "replay") {
    return fmt::format("*The session {} was played into this one here.*\n",
                       code_span(item.child_session));
  }
  if (item.kind == "error")
    return fmt::format(
        "**Error: {}**\n\n{}", without_html(one_line(item.title)), prose(item.text, ""));
  if (item.kind == "command")
    return fmt::format("Command {}\n\n{}", code_span("/" + item.title), prose(item.text, "> "));
  if (item.kind == "reasoning") return fmt::format("*Reasoning:*\n\n{}", prose(item.text, "> "));
  if (item.kind == "subtask") return fmt::format("Asked a subagent:\n\n{}", prose(item.text, "> "));
  return prose(item.text, item.role == "user" ? "> " : "");
}

std::string speaker(const TranscriptItem& item) {
  if (item.continuation) return "OpenCode, after compacting";
  if (item.own_note) return "respool, when the session was continued";
  if (item.synthetic && item.role == "user") return "Attached by OpenCode";
  if (item.summary) return "Summary of everything before";
  return item.role == "user" ? "User" : "Assistant";
}

std::string heading(const TranscriptItem& item) {
  std::string line = fmt::format("\n{} {}", item.child_of.empty() ? "##" : "###", speaker(item));
  if (!item.child_of.empty()) line += fmt::format(" (child session {})", code_span(item.child_of));
  if (item.time_ms) line += fmt::format(", {}", format_time(*item.time_ms));
  if (item.removed) line += " (taken back)";
  return line + "\n\n";
}

}  // namespace

std::string render_markdown(const Transcript& transcript, bool reasoning) {
  const std::string title = transcript.title.empty() ? transcript.session : transcript.title;
  std::string out = fmt::format(
      "# {}\n\n- session {}\n", without_html(one_line(title)), code_span(transcript.session));
  if (!transcript.directory.empty()) {
    out += fmt::format("- in {}{}\n",
                       code_span(transcript.directory),
                       transcript.host.empty() ? "" : " on " + code_span(transcript.host));
  }
  if (!transcript.model.empty())
    out += fmt::format("- model {}\n", code_span(transcript.provider + "/" + transcript.model));
  if (!transcript.other_branches.empty()) {
    out += fmt::format("- {} messages are on another branch and not shown\n",
                       transcript.other_branches.size());
  }
  const TranscriptItem* previous = nullptr;
  for (const auto& item : transcript.items) {
    if (item.kind == "reasoning" && !reasoning) continue;
    const std::string text = body(item);
    if (text.empty()) continue;
    const bool same = previous != nullptr && previous->message == item.message &&
                      !item.message.empty() && speaker(*previous) == speaker(item);
    out += same ? "\n" : heading(item);
    out += text;
    previous = &item;
  }
  return out;
}

}  // namespace respool
