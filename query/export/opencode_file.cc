#include "query/export/opencode_file.h"

#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "schema/opencode/import_shape.h"
#include "schema/opencode/new_id.h"
#include "schema/opencode/stored_object.h"

#include "query/export/file_text.h"
#include "query/export/made_up.h"
#include "query/export/opencode_objects.h"

namespace respool {
namespace {

using export_detail::Changes;
using export_detail::Defaults;
using export_detail::FileText;

// What stands in the place of a prompt that no source showed.
constexpr std::string_view kNoPrompt = "[The prompt of this turn was not recorded.]";

Changes changes_of(const SessionFacts& facts, const OpenCodeFileOptions& options) {
  Changes changes;
  changes.fresh_ids = options.fresh_ids;
  changes.zero_usage = options.zero_usage;
  changes.directory = options.directory;
  changes.other_directory =
      !options.directory.empty() && options.directory != facts.session.directory;
  changes.title = options.title;
  changes.opencode_version = options.opencode_version;
  if (options.map_paths && changes.other_directory)
    changes.paths = PathMap(facts.session.directory, options.directory);
  return changes;
}

// At least as many ids as the file can need.
std::uint64_t ids_needed(const SessionFacts& facts) {
  std::uint64_t count = 4 + 2 * facts.prompts.size();
  for (const auto& [id, message] : facts.messages)
    count += 3 + message.parts.size();
  return count;
}

// Walks a session's facts in reading order and writes the file as it goes.
class FileWriter {
 public:
  FileWriter(const StoreReader& reader,
             SessionNumber number,
             const SessionFacts& facts,
             const Point& point,
             const OpenCodeFileOptions& options)
      : reader_(&reader),
        number_(number),
        facts_(&facts),
        point_(&point),
        options_(&options),
        changes_(changes_of(facts, options)),
        known_(export_detail::defaults_of(facts, options)),
        ids_(options.seed, options.id_time_ms, ids_needed(facts)),
        order_(message_order(facts)) {}

  Result<OpenCodeFile> write() {
    RESPOOL_TRY(check_point());
    for (const auto& [id, prompt] : facts_->prompts) {  // ids sort by time
      if (!prompt_is_known(*facts_, prompt.time_ms.value_or(0))) prompts_.push_back(&prompt);
    }
    has_revert_ = std::any_of(order_.begin(), order_.end(), [&](const auto& message) {
      return *message.id == facts_->session.revert_message;
    });
    file_.session = options_->fresh_ids ? ids_.session() : facts_->session.id;
    RESPOOL_TRY(begin_file());
    RESPOOL_TRY(const bool whole, add_messages());
    if (whole) {
      const std::int64_t end = order_.empty() ? 0 : order_.back().time_ms;
      RESPOOL_TRY(add_prompts_until(INT64_MAX, std::max(end, last_time_ms_)));
    }
    if (!options_->closing_note.empty()) add_closing_note();
    text_.finish();
    return std::move(file_);
  }

 private:
  // ---------------------------------------------------------------- the walk

  Result<void> check_point() const {
    const bool there = std::any_of(
        order_.begin(), order_.end(), [&](const auto& m) { return *m.id == point_->message; });
    if (there || point_->message.empty()) return ok();
    return Error(ErrorCode::NotFound,
                 fmt::format("session {} has no message {}", facts_->session.id, point_->message),
                 fmt::format("respool show {}", facts_->session.id));
  }

  // False where the point lies before the end.
  Result<bool> add_messages() {
    for (const auto& ordered : order_) {
      const bool is_point = *ordered.id == point_->message;
      if (is_point && point_->before) return false;
      RESPOOL_TRY(
          add_prompts_until(first_seen_ms(*ordered.message, ordered.time_ms), ordered.time_ms));
      const bool revert_begins = has_revert_ && *ordered.id == facts_->session.revert_message;
      reverted_ |= revert_begins && facts_->session.revert_part.empty();
      RESPOOL_TRY(add_message(ordered));
      reverted_ |= revert_begins;
      if (is_point) return false;
    }
    return true;
  }

  // Adds the prompts of runs that had begun by `time_ms`, made at `latest_ms` at the latest: a
  // prompt carries the time of its run's first line, which its answer may precede.
  Result<void> add_prompts_until(std::int64_t time_ms, std::int64_t latest_ms) {
    for (; next_prompt_ < prompts_.size() && prompts_[next_prompt_]->time_ms.value_or(0) <= time_ms;
         ++next_prompt_) {
      if (options_->fresh_ids && reverted_) continue;
      const auto& prompt = *prompts_[next_prompt_];
      RESPOOL_TRY(const auto content, reader_->content(number_, prompt.ref));
      const std::int64_t created = std::min<std::int64_t>(prompt.time_ms.value_or(0), latest_ms);
      JsonFields part = export_detail::text_part(content.text);
      text_.note(
          "", "", "a prompt that was given beside the stream stands as a message of the user");
      add_user(created, std::move(part), fmt::format("prompt {}", prompt.id));
    }
    return ok();
  }

  Result<void> begin_file() {
    std::optional<JsonFields> info;
    const auto& row = facts_->session;
    if (is_live(row)) {
      RESPOOL_TRY(const auto event, reader_->event(number_, row.ref));
      info = stored_object(event.raw, event.shape(), ObjectKind::Session);
    }
    JsonFields made = export_detail::session_from_facts(*facts_, order_, known_, *options_);
    if (!info) {
      text_.note("", "", "no source showed the session itself: made up from its parts");
      info = made;
    }
    info->set_text("id", file_.session);
    change_session(*info, changes_);
    if (options_->fresh_ids) fit_info(*info, made);
    text_.begin(*info);
    return ok();
  }

  // Puts what facts say in the place of what the importer would stop at.
  void fit_info(JsonFields& info, JsonFields made) {
    change_session(made, changes_);
    for (const auto& [key, value] : made.fields()) {
      if (!info.has(key)) info.set(key, value);
    }
    for (std::size_t tries = 0; tries <= made.fields().size(); ++tries) {
      const Fitting fitting = fit_session(info);
      text_.note_removed("", "", fitting);
      if (fitting.unfit.empty()) return;
      info.set(fitting.unfit, std::string(made.get(fitting.unfit).value_or("\"\"")));
      text_.note(
          "", "", fmt::format("\"{}\" was not as it must be and was replaced", fitting.unfit));
    }
  }

  // ---------------------------------------------------------------- messages

  Result<void> add_message(const OrderedMessage& ordered) {
    const auto& row = ordered.message->row;
    if (row && is_removed(*row)) return leave_out(*ordered.id, "", "the message was removed");
    if (options_->fresh_ids && reverted_)
      return leave_out(*ordered.id, "", "the message was reverted");
    RESPOOL_TRY(JsonFields info, message_info(ordered));
    set_parent(ordered, info);
    const std::string id = options_->fresh_ids ? ids_.message() : *ordered.id;
    info.set_text("id", id);
    info.set_text("sessionID", file_.session);
    change_message(info, changes_);
    if (options_->fresh_ids && !fit_info_of(ordered, info)) return ok();
    if (row) export_detail::learn(known_, *row);
    message_ids_[*ordered.id] = id;
    text_.open_message(*ordered.id, id, info);
    for (const auto* part : part_order(*ordered.message, ordered.time_ms)) {
      RESPOOL_TRY(add_part(ordered, id, *part));
    }
    text_.close_message();
    if (!ordered.assistant) last_user_ = id;
    const std::string reason = export_detail::last_reason(ordered);
    turn_is_open_ = !ordered.assistant || reason.empty() || reason == "tool-calls";
    return ok();
  }

  Result<JsonFields> message_info(const OrderedMessage& ordered) {
    const auto& row = ordered.message->row;
    if (row && is_live(*row)) {
      RESPOOL_TRY(const auto event, reader_->event(number_, row->ref));
      auto info = stored_object(event.raw, event.shape(), ObjectKind::Message);
      if (info) return std::move(*info);
    }
    text_.note(*ordered.id, "", "no source showed the message itself: made up from its parts");
    JsonFields info = export_detail::message_from_facts(ordered, known_);
    if (row && !row->parent.empty()) info.set_text("parentID", row->parent);
    return info;
  }

  // An answer has a prompt: the one it names; else, where no source says which, the one before it;
  // else one that says that it was not recorded.
  void set_parent(const OrderedMessage& ordered, JsonFields& info) {
    if (info.text("role") != "assistant") return;
    const auto named = info.text("parentID");
    if (named && !options_->fresh_ids) return;
    if (named && message_ids_.count(*named) == 1)
      return info.set_text("parentID", message_ids_[*named]);
    if (named || last_user_.empty() || !turn_is_open_) {
      text_.note(*ordered.id, "", "the prompt it answers was not recorded");
      JsonFields part = export_detail::text_part(kNoPrompt);
      export_detail::mark_synthetic(part, "prompt_not_recorded", facts_->session.id);
      add_user(ordered.time_ms, std::move(part), fmt::format("prompt of {}", *ordered.id));
      if (named) message_ids_[*named] = last_user_;
    }
    info.set_text("parentID", last_user_);
  }

  // Makes the message acceptable to the importer; false where it cannot be.
  bool fit_info_of(const OrderedMessage& ordered, JsonFields& info) {
    const std::string& id = *ordered.id;
    Defaults defaults = known_;
    defaults.time_ms = std::max<std::int64_t>(0, ordered.time_ms);
    text_.note_filled(id, "", complete_message(info, defaults));
    raise_time(info, ordered.time_ms);
    const auto error = info.object("error");
    Fitting fitting = fit_message(info);
    if (error && !info.has("error")) {
      info.set("error", export_detail::known_error(*error));
      std::erase(fitting.removed, "error");
      text_.note(id, "", "its error is of a kind the importer does not know: named UnknownError");
    }
    text_.note_removed(id, "", fitting);
    if (fitting.unfit.empty()) return true;
    text_.note(id, "", fmt::format("the importer would stop at its \"{}\"", fitting.unfit), true);
    return false;
  }

  // OpenCode sorts messages by the time they were made, so no message may state an earlier one than
  // the message before it.
  void raise_time(JsonFields& info, std::int64_t time_ms) {
    auto time = info.object("time").value_or(JsonFields());
    last_time_ms_ = std::max({last_time_ms_, time_ms, std::int64_t{0}});
    if (time.get("created") == std::to_string(last_time_ms_)) return;
    time.set_number("created", last_time_ms_);
    info.set("time", time.json());
  }

  void add_closing_note() {
    JsonFields part = export_detail::text_part(options_->closing_note);
    export_detail::mark_synthetic(part, "moved", facts_->session.id);
    const std::int64_t end = order_.empty() ? 0 : order_.back().time_ms + 1;
    add_user(std::max(options_->id_time_ms, end), std::move(part), "closing note");
  }

  // A message of the user's that no source showed as one.
  void add_user(std::int64_t time_ms, JsonFields part, const std::string& what) {
    if (options_->fresh_ids) time_ms = last_time_ms_ = std::max(last_time_ms_, time_ms);
    const std::string seed = facts_->session.id + "\n" + what;
    const std::string id = options_->fresh_ids ? ids_.message() : id_for("msg_", seed, time_ms);
    JsonFields info = export_detail::user_message(known_, time_ms);
    info.set_text("id", id);
    info.set_text("sessionID", file_.session);
    text_.open_message("", id, info);
    const std::string part_id = options_->fresh_ids ? ids_.part() : id_for("prt_", seed, time_ms);
    set_ids(part, part_id, id);
    text_.add_part("", part_id, part);
    text_.close_message();
    last_user_ = id;
    turn_is_open_ = true;
  }

  // ---------------------------------------------------------------- parts

  Result<void> add_part(const OrderedMessage& ordered,
                        const std::string& message_id,
                        const fb::PartRowT& row) {
    if (is_removed(row)) return leave_out(*ordered.id, row.id, "the part was removed");
    // OpenCode removes the named part itself and all after it.
    reverted_ |= has_revert_ && *ordered.id == facts_->session.revert_message &&
                 row.id == facts_->session.revert_part;
    if (options_->fresh_ids && reverted_)
      return leave_out(*ordered.id, row.id, "the part was reverted");
    const bool names_tree = row.type == fb::PartType::Patch || row.type == fb::PartType::Snapshot;
    if (names_tree && changes_.other_directory)
      return leave_out(*ordered.id, row.id, "it names a file snapshot of the old directory");
    RESPOOL_TRY(const auto event, reader_->event(number_, row.ref));
    auto part = stored_object(event.raw, event.shape(), ObjectKind::Part);
    if (!part) return leave_out(*ordered.id, row.id, "what was recorded of it cannot be read");
    change_part(*part, changes_);
    const std::string id = options_->fresh_ids ? ids_.part() : row.id;
    set_ids(*part, id, message_id);
    if (options_->fresh_ids && !fit_part_of(ordered, row, *part)) return ok();
    text_.add_part(row.id, id, *part);
    return ok();
  }

  void set_ids(JsonFields& part, const std::string& id, const std::string& message_id) const {
    part.set_text("id", id);
    part.set_text("sessionID", file_.session);
    part.set_text("messageID", message_id);
  }

  // Makes the part acceptable to the importer; false where it cannot be.
  bool fit_part_of(const OrderedMessage& ordered, const fb::PartRowT& row, JsonFields& part) {
    const std::int64_t time = std::max<std::int64_t>(0, ordered.time_ms);
    const std::int64_t started = row.start_ms ? std::max<std::int64_t>(0, *row.start_ms) : time;
    if (export_detail::end_open_call(part, started, row.key.as_of_ms()))
      text_.note(
          *ordered.id, row.id, "the call never ended: it stands as one that was interrupted");
    Defaults defaults = known_;
    defaults.time_ms = time;
    text_.note_filled(*ordered.id, row.id, complete_part(part, defaults));
    map_tail(ordered, row, part);
    export_detail::rename_attachments(part, options_->seed, options_->id_time_ms);
    const Fitting fitting = fit_part(part);
    text_.note_removed(*ordered.id, row.id, fitting);
    if (fitting.unfit.empty()) return true;
    text_.note(*ordered.id,
               row.id,
               fmt::format("the importer would stop at its \"{}\"", fitting.unfit),
               true);
    return false;
  }

  // A compaction names the first message it left whole. Where that is not in the file, the name
  // goes too: OpenCode would look for it and send everything.
  void map_tail(const OrderedMessage& ordered, const fb::PartRowT& row, JsonFields& part) {
    if (part.text("type") != "compaction") return;
    const auto tail = part.text("tail_start_id");
    if (!tail) return;
    const auto mapped = message_ids_.find(*tail);
    if (mapped != message_ids_.end()) return part.set_text("tail_start_id", mapped->second);
    part.remove("tail_start_id");
    text_.note(*ordered.id, row.id, "the message at which its tail starts is not in the file");
  }

  Result<void> leave_out(const std::string& message, const std::string& part, std::string what) {
    text_.note(message, part, std::move(what), true);
    return ok();
  }

  const StoreReader* reader_;
  SessionNumber number_;
  const SessionFacts* facts_;
  const Point* point_;
  const OpenCodeFileOptions* options_;
  Changes changes_;
  Defaults known_;
  NewIds ids_;
  std::vector<OrderedMessage> order_;
  std::vector<const fb::PromptRowT*> prompts_;
  std::size_t next_prompt_ = 0;
  std::map<std::string, std::string> message_ids_;  // of messages in the file: old to new
  std::string last_user_;                           // the newest prompt in the file
  bool turn_is_open_ = false;  // the newest message asks for another of its turn
  std::int64_t last_time_ms_ = 0;
  bool has_revert_ = false;
  bool reverted_ = false;
  OpenCodeFile file_;
  FileText text_{file_};
};

}  // namespace

Result<OpenCodeFile> opencode_file(const StoreReader& reader,
                                   SessionNumber number,
                                   const Point& point,
                                   const OpenCodeFileOptions& options) {
  if (options.fresh_ids && options.seed.empty()) {
    return Error(ErrorCode::InvalidArgument,
                 "new ids need a seed: without one the importer may know them already",
                 "give each attempt a seed of its own");
  }
  RESPOOL_TRY(const auto facts, reader.facts_at(number, point));
  return FileWriter(reader, number, facts, point, options).write();
}

}  // namespace respool
