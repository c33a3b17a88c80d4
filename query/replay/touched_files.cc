#include "query/replay/touched_files.h"

#include <algorithm>

#include "schema/digest.h"
#include "schema/opencode/record.h"

namespace respool {
namespace {

// Contents above this are not followed through edits.
constexpr std::size_t kMaxContentBytes = 4U << 20;

std::string_view action_name(fb::FileAction action) {
  switch (action) {
    case fb::FileAction::Read:
      return "read";
    case fb::FileAction::Write:
      return "write";
    case fb::FileAction::Edit:
      return "edit";
    case fb::FileAction::Delete:
      return "delete";
    case fb::FileAction::Patch:
      return "patch";
  }
  return "read";
}

// OpenCode's own `edit`: the one occurrence, or all of them. Nothing where it could not have been.
std::optional<std::string> edited(std::string content, const FileChange& change) {
  if (change.old_text.empty()) return std::nullopt;
  std::size_t at = content.find(change.old_text);
  if (at == std::string::npos) return std::nullopt;
  while (at != std::string::npos) {
    content.replace(at, change.old_text.size(), change.new_text);
    if (!change.everywhere) break;
    at = content.find(change.old_text, at + change.new_text.size());
  }
  return content;
}

class FileTracker {
 public:
  void tool(const TranscriptItem& item) {
    if (item.removed || item.outcome == ToolOutcome::Withheld ||
        item.outcome == ToolOutcome::Refused)
      return;
    const bool done = item.outcome == ToolOutcome::Completed;
    for (const auto& touched : item.files)
      touch(touched, done ? decode_file_change(item.input) : FileChange(), done);
  }

  void patched(const TouchedFile& file) {
    if (!places_.contains(file.path)) touch(file, {}, false);
  }

  std::vector<TouchedState> finish() {
    std::vector<TouchedState> list;
    for (auto& entry : order_)
      list.push_back(std::move(entry.state));
    return list;
  }

 private:
  struct Entry {
    TouchedState state;
    std::optional<std::string> content;
  };

  void touch(const TouchedFile& touched, const FileChange& change, bool done) {
    Entry entry;
    const auto old = places_.find(touched.path);
    if (old != places_.end()) {
      entry = std::move(order_[old->second]);
      order_[old->second].state.path.clear();
    }
    entry.state.path = touched.path;
    const bool reads = touched.action == fb::FileAction::Read;
    if (!reads || entry.state.action.empty()) entry.state.action = action_name(touched.action);
    if (!reads) follow(entry, touched, change, done);
    places_[touched.path] = order_.size();
    order_.push_back(std::move(entry));
  }

  // A call that was interrupted, or a tool we cannot follow, leaves the content unknown.
  static void follow(Entry& entry,
                     const TouchedFile& touched,
                     const FileChange& change,
                     bool done) {
    std::optional<std::string> content;
    if (done && change.path == touched.path) {
      if (touched.action == fb::FileAction::Write && change.content) content = change.content;
      if (touched.action == fb::FileAction::Edit && entry.content)
        content = edited(std::move(*entry.content), change);
    }
    if (content && content->size() > kMaxContentBytes) content.reset();
    entry.content = std::move(content);
    entry.state.recorded = entry.content ? to_hex(as_bytes(sha256(*entry.content))) : "";
  }

  std::vector<Entry> order_;  // an entry that moved on has an empty path
  std::map<std::string, std::size_t> places_;
};

}  // namespace

std::vector<TouchedState> touched_files(const Transcript& transcript) {
  FileTracker tracker;
  for (const auto& item : transcript.items) {
    if (item.kind == "tool") tracker.tool(item);
  }
  for (const auto& file : transcript.patched)
    tracker.patched(file);
  auto list = tracker.finish();
  std::erase_if(list, [](const TouchedState& state) { return state.path.empty(); });
  return list;
}

std::string compared(const TouchedState& file, const PresentFiles& present) {
  const auto found = present.find(file.path);
  if (found == present.end()) return "";
  if (!found->second) return "missing";
  if (file.recorded.empty()) return "there";
  return *found->second == file.recorded ? "same" : "changed";
}

}  // namespace respool
