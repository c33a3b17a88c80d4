#include "query/views/transcript.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "schema/digest.h"

#include "engine/facts/branches.h"
#include "engine/facts/merge_order.h"

#include "query/replay/envelope.h"

namespace respool {
namespace {

std::string_view kind_of_part(fb::PartType type) {
  switch (type) {
    case fb::PartType::Text:
      return "text";
    case fb::PartType::Reasoning:
      return "reasoning";
    case fb::PartType::File:
      return "file";
    case fb::PartType::Tool:
      return "tool";
    case fb::PartType::Compaction:
      return "compaction";
    case fb::PartType::Subtask:
      return "subtask";
    default:
      return {};  // steps, snapshots, patches, agents, retries: not something said
  }
}

class TranscriptReader {
 public:
  TranscriptReader(const StoreReader& reader,
                   SessionNumber number,
                   const SessionFacts& facts,
                   const Point& point)
      : reader_(&reader), number_(number), facts_(&facts), point_(&point) {}

  Result<Transcript> read() {
    transcript_.session = facts_->session.id;
    transcript_.directory = facts_->session.directory;
    transcript_.title = facts_->session.title;
    transcript_.host = facts_->session.host;
    choose_branch();
    prompts_ = shown_prompts();
    errors_ = loose_errors();
    const auto order = message_order(*facts_);
    RESPOOL_TRY(check_point(order));
    for (const auto& ordered : order) {
      if (elsewhere_.contains(*ordered.id)) continue;
      const bool is_point = *ordered.id == point_->message;
      if (is_point && point_->before) break;
      add_errors_until(ordered.time_ms);
      RESPOOL_TRY(add_prompts_until(first_seen_ms(*ordered.message, ordered.time_ms)));
      reverted_ |=
          *ordered.id == facts_->session.revert_message && facts_->session.revert_part.empty();
      RESPOOL_TRY(add_message(ordered));
      if (is_point) return std::move(transcript_);
    }
    if (point_->message.empty()) {
      RESPOOL_TRY(add_prompts_until(INT64_MAX));
      add_errors_until(INT64_MAX);
    }
    return std::move(transcript_);
  }

 private:
  void choose_branch() {
    for (auto& branch : branches_of(*facts_)) {
      if (point_->branch && branch.origin != point_->branch->value) continue;
      elsewhere_ = std::move(branch.elsewhere);
      transcript_.other_branches.assign(elsewhere_.begin(), elsewhere_.end());
      return;
    }
  }

  Result<void> check_point(const std::vector<OrderedMessage>& order) const {
    if (point_->message.empty()) return ok();
    const bool there = std::any_of(
        order.begin(), order.end(), [&](const auto& m) { return *m.id == point_->message; });
    if (there && elsewhere_.contains(point_->message)) {
      return Error(ErrorCode::NotFound,
                   fmt::format("message {} of session {} is on another origin's branch",
                               point_->message,
                               facts_->session.id),
                   "give --branch; respool sessions --json lists the origins");
    }
    if (there) return ok();
    return Error(ErrorCode::NotFound,
                 fmt::format("session {} has no message {}", facts_->session.id, point_->message),
                 fmt::format("respool show {}", facts_->session.id));
  }

  // Prompts given beside a source that shows none. Where another source shows the prompt of the
  // same answer, that one counts.
  std::vector<const fb::PromptRowT*> shown_prompts() const {
    std::vector<const fb::PromptRowT*> prompts;
    for (const auto& [id, prompt] : facts_->prompts) {  // ids sort by time
      if (!prompt_is_known(*facts_, prompt.time_ms.value_or(0))) prompts.push_back(&prompt);
    }
    return prompts;
  }

  // Errors that no message carries. Two sources may have seen one error at two times.
  std::vector<const fb::ErrorRowT*> loose_errors() const {
    std::vector<const fb::ErrorRowT*> errors;
    for (const auto& [id, error] : facts_->errors) {
      const bool carried =
          std::any_of(facts_->messages.begin(), facts_->messages.end(), [&](const auto& entry) {
            return entry.second.row && entry.second.row->error_name == error.name &&
                   entry.second.row->error_text == error.text;
          });
      if (!carried) errors.push_back(&error);  // ids sort by time
    }
    return errors;
  }

  void add_errors_until(std::int64_t time_ms) {
    for (; next_error_ < errors_.size() && errors_[next_error_]->time_ms <= time_ms;
         ++next_error_) {
      TranscriptItem item;
      item.role = "assistant";
      item.kind = "error";
      item.time_ms = errors_[next_error_]->time_ms;
      item.title = errors_[next_error_]->name;
      item.text = errors_[next_error_]->text;
      transcript_.items.push_back(std::move(item));
    }
  }

  // Adds the prompts of runs that had begun by `time_ms`.
  Result<void> add_prompts_until(std::int64_t time_ms) {
    for (; next_prompt_ < prompts_.size() && prompts_[next_prompt_]->time_ms.value_or(0) <= time_ms;
         ++next_prompt_) {
      const auto& prompt = *prompts_[next_prompt_];
      TranscriptItem item;
      item.role = "user";
      item.kind = "text";
      if (prompt.time_ms) item.time_ms = *prompt.time_ms;
      RESPOOL_TRY(const auto content, reader_->content(number_, prompt.ref));
      item.text = content.text;
      split_replay(item);
      transcript_.items.push_back(std::move(item));
    }
    return ok();
  }

  Result<void> add_message(const OrderedMessage& ordered) {
    const auto& message = *ordered.message;
    if (ordered.assistant && message.row && !message.row->model.empty()) {
      transcript_.provider = message.row->provider;
      transcript_.model = message.row->model;
    }
    RESPOOL_TRY(add_command(ordered));
    for (const auto* part : part_order(message, ordered.time_ms)) {
      RESPOOL_TRY(add_part(ordered, *part));
      reverted_ |=
          *ordered.id == facts_->session.revert_message && part->id == facts_->session.revert_part;
    }
    if (!message.row || message.row->error_name.empty()) return ok();
    TranscriptItem item = start(ordered, "error");
    item.title = message.row->error_name;
    item.text = message.row->error_text;
    item.removed = reverted_ || is_removed(*message.row) || is_removed(facts_->session);
    transcript_.items.push_back(std::move(item));
    return ok();
  }

  Result<void> add_command(const OrderedMessage& ordered) {
    const auto command = facts_->commands.find(*ordered.id);
    if (command == facts_->commands.end()) return ok();
    TranscriptItem item = start(ordered, "command");
    item.title = command->second.name;
    RESPOOL_TRY(const auto content, reader_->content(number_, command->second.ref));
    item.text = content.description;
    transcript_.items.push_back(std::move(item));
    return ok();
  }

  TranscriptItem start(const OrderedMessage& ordered, std::string_view kind) const {
    TranscriptItem item;
    item.message = *ordered.id;
    item.role = ordered.assistant ? "assistant" : "user";
    item.kind = kind;
    if (ordered.time_ms != 0) item.time_ms = ordered.time_ms;
    return item;
  }

  Result<void> add_part(const OrderedMessage& ordered, const fb::PartRowT& part) {
    const bool removed = reverted_ || part_is_removed(*facts_, *ordered.message, part);
    if (part.type == fb::PartType::Patch && !removed) {
      for (const auto& file : part.files)
        transcript_.patched.push_back({file->path, file->action});
    }
    const std::string_view kind = kind_of_part(part.type);
    if (kind.empty()) return ok();
    TranscriptItem item = start(ordered, kind);
    item.part = part.id;
    if (part.start_ms) item.time_ms = *part.start_ms;
    item.synthetic = part.synthetic;
    item.continuation = part.continuation;
    item.removed = removed;
    item.summary = is_summary(*ordered.message, part);
    item.tail_start = part.tail_start;
    item.title = part.type == fb::PartType::File ? part.filename : part.title;
    RESPOOL_TRY(const auto content, reader_->content(number_, part.ref));
    item.text = part.type == fb::PartType::Subtask ? content.description : content.text;
    if (part.type == fb::PartType::Tool) set_tool(item, ordered, part, content);
    if (part.type == fb::PartType::File) set_file(item, part, content);
    if (part.type == fb::PartType::Text && !ordered.assistant) {
      item.own_note = item.synthetic && is_own_note(item.message);
      split_replay(item);
    }
    transcript_.items.push_back(std::move(item));
    return ok();
  }

  // True for a message that respool wrote and copied from nowhere.
  bool is_own_note(const std::string& message) const {
    if (!is_own_copy(*facts_, message)) return false;
    for (const auto& [id, replay] : facts_->replays) {
      for (std::size_t i = 1; i < replay.messages.size(); i += 2) {
        if (replay.messages[i] == message) return replay.messages[i - 1].empty();
      }
    }
    return false;
  }

  // A summary that failed stands for nothing.
  static bool is_summary(const MessageFacts& message, const fb::PartRowT& part) {
    return part.type == fb::PartType::Text && part.text_bytes > 0 && message.row &&
           message.row->summary && message.row->error_name.empty();
  }

  static void set_file(TranscriptItem& item, const fb::PartRowT& part, const Content& content) {
    item.text = item.mime = part.mime;
    if (!content.url.starts_with("data:")) {
      item.url = content.url;
      return;
    }
    item.bytes = content.url.size();
    item.digest = to_hex(as_bytes(sha256(content.url)));
  }

  // What stands before the user's words is a copy only where respool itself planned to put exactly
  // that there; anything else that looks like it is the user's text.
  void split_replay(TranscriptItem& item) {
    const std::size_t end = replay_envelope_end(item.text);
    if (end == 0) return;
    const std::string digest = to_hex(as_bytes(sha256(std::string_view(item.text).substr(0, end))));
    for (const auto& [id, replay] : facts_->replays) {
      if (replay.digest != digest || replay.to_session != facts_->session.id) continue;
      TranscriptItem copy = item;
      copy.kind = "replay";
      copy.text.clear();
      copy.replay_id = replay.replay_id;
      copy.child_session = replay.from_session;
      copy.title = replay.point;
      transcript_.items.push_back(std::move(copy));
      const auto words = item.text.find_first_not_of('\n', end);
      item.text.erase(0, std::min(words, item.text.size()));
      return;
    }
  }

  void set_tool(TranscriptItem& item,
                const OrderedMessage& ordered,
                const fb::PartRowT& part,
                const Content& content) const {
    item.tool = part.tool == "invalid" && !part.attempted.empty() ? part.attempted : part.tool;
    item.call = part.call;
    item.input = content.input;
    item.text = part.status == fb::ToolStatus::Error ? content.error : content.output;
    item.child_session = part.child_session;
    item.outcome = tool_outcome(*facts_, *ordered.id, *ordered.message, part);
    if (part.exit_state == fb::ExitState::Number) item.exit = part.exit;
    for (const auto& file : part.files)
      item.files.push_back({file->path, file->action});
  }

  const StoreReader* reader_;
  SessionNumber number_;
  const SessionFacts* facts_;
  const Point* point_;
  Transcript transcript_;
  std::vector<const fb::PromptRowT*> prompts_;
  std::size_t next_prompt_ = 0;
  std::vector<const fb::ErrorRowT*> errors_;
  std::size_t next_error_ = 0;
  std::set<std::string> elsewhere_;  // messages of other branches
  bool reverted_ = false;
};

}  // namespace

Result<Transcript> read_transcript(const StoreReader& reader,
                                   SessionNumber number,
                                   const Point& point) {
  RESPOOL_TRY(const auto facts, reader.facts_at(number, point));
  return TranscriptReader(reader, number, facts, point).read();
}

}  // namespace respool
