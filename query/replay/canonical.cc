#include "query/replay/canonical.h"

#include <fmt/format.h>

namespace respool {
namespace {

class Fields {
 public:
  void text(std::string_view value) {
    text_ += fmt::format("{}:", value.size());
    text_ += value;
    text_.push_back('\n');
  }
  void number(std::int64_t value) { text(fmt::format("{}", value)); }
  template <class Optional>
  void known_number(const Optional& value) {
    text(value ? fmt::format("{}", *value) : "");
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

void add_item(const TranscriptItem& item, Fields& fields) {
  for (const auto* value : {&item.message,
                            &item.part,
                            &item.role,
                            &item.kind,
                            &item.text,
                            &item.input,
                            &item.title,
                            &item.tool,
                            &item.call,
                            &item.child_session,
                            &item.mime,
                            &item.url,
                            &item.digest,
                            &item.tail_start,
                            &item.replay_id,
                            &item.child_of}) {
    fields.text(*value);
  }
  fields.known_number(item.time_ms);
  fields.known_number(item.exit);
  fields.text(item.outcome ? outcome_name(*item.outcome) : "");
  fields.number(static_cast<std::int64_t>(item.bytes));
  fields.text(fmt::format("{:d}{:d}{:d}{:d}{:d}",
                          item.removed,
                          item.synthetic,
                          item.continuation,
                          item.summary,
                          item.own_note));
  for (const auto& file : item.files) {
    fields.text(file.path);
    fields.number(static_cast<std::int64_t>(file.action));
  }
}

}  // namespace

std::string canonical_replay(const Transcript& transcript, const ReplayOptions& options) {
  Fields fields;
  fields.text(fmt::format("respool replay {}", kRendererVersion));
  fields.number(static_cast<std::int64_t>(options.budget_tokens));
  fields.number(options.reasoning ? 1 : 0);
  fields.text(options.new_directory);
  fields.text(options.new_host);
  for (const auto& [path, digest] : options.present) {
    fields.text(path);
    fields.text(digest.value_or("missing"));
  }
  fields.text(transcript.session);
  fields.text(transcript.directory);
  fields.text(transcript.host);
  fields.text(transcript.title);
  for (const auto& item : transcript.items)
    add_item(item, fields);
  for (const auto& file : transcript.patched)
    fields.text(file.path);
  for (const auto& id : transcript.other_branches)
    fields.text(id);
  return fields.take();
}

}  // namespace respool
