#include "query/replay/prefix.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "schema/digest.h"

#include "query/replay/budget.h"
#include "query/replay/canonical.h"
#include "query/replay/envelope.h"
#include "query/replay/frame.h"
#include "query/replay/quote.h"

namespace respool {
namespace {

constexpr auto kFidelities =
    std::to_array({Fidelity::Verbatim, Fidelity::Elided, Fidelity::TextOnly, Fidelity::OneLine});

// Up to which share of the budget, in percent, messages are shown at each fidelity.
constexpr std::uint64_t kSharePercent[] = {60, 80, 92, 100};

// No id is dearer: letters and digits that take turns. What a frame costs must not depend on its
// id, which depends on the budget.
constexpr std::string_view kDearestId =
    "a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1";

std::vector<ReplayMessage> by_message(const std::vector<const TranscriptItem*>& items) {
  std::vector<ReplayMessage> messages;
  for (const auto* item : items) {
    const bool joins = !messages.empty() && !item->message.empty() &&
                       messages.back().first().message == item->message &&
                       messages.back().first().child_of == item->child_of;
    if (!joins) messages.emplace_back();
    messages.back().items.push_back(item);
  }
  return messages;
}

class Renderer {
 public:
  Renderer(const Transcript& transcript, const ReplayOptions& options)
      : transcript_(&transcript), options_(&options) {}

  Replay render() {
    replay_.session = transcript_->session;
    replay_.budget_tokens = options_->budget_tokens;
    replay_.replay_id = to_hex(as_bytes(sha256(canonical_replay(*transcript_, *options_))));
    for (const auto& id : transcript_->other_branches)
      leave_out(id, "other_branch");
    messages_ = by_message(select());
    constexpr std::uint64_t kListTokens = 120;  // room for the counts of what is left out
    const ReplayFrame dearest(*transcript_, *options_, std::string(kDearestId));
    frame_tokens_ = estimate_tokens(dearest.text({}, "")) + kListTokens;
    std::uint64_t body_tokens = options_->budget_tokens;
    // Sums of estimates are estimates of sums but for a few tokens; where they are not, less is
    // shown.
    constexpr int kTries = 4;
    for (int attempt = 0; attempt < kTries; ++attempt) {
      compose(body_tokens);
      if (replay_.shown.empty() || replay_.estimated_tokens <= options_->budget_tokens) break;
      const std::uint64_t excess = replay_.estimated_tokens - options_->budget_tokens;
      body_tokens -= std::min(body_tokens, excess + excess / 8 + 1);
    }
    return std::move(replay_);
  }

 private:
  // What is context and not history: no removed turns, none of OpenCode's own words, and nothing of
  // what a summary stands for, but for the tail that the compaction left as it was.
  std::vector<const TranscriptItem*> select() {
    const auto& items = transcript_->items;
    std::size_t summary = items.size();
    std::size_t compaction = items.size();
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (items[i].removed || !items[i].child_of.empty()) continue;
      if (items[i].kind == "compaction") compaction = i;
      if (items[i].summary) summary = i;
    }
    std::size_t tail = items.size();
    if (summary < items.size() && compaction < summary && !items[compaction].tail_start.empty()) {
      const auto found = std::find_if(items.begin(), items.end(), [&](const auto& item) {
        return item.message == items[compaction].tail_start;
      });
      tail = static_cast<std::size_t>(found - items.begin());
    }
    std::vector<const TranscriptItem*> selected;
    if (summary < items.size()) select_message(items[summary].message, selected);
    for (std::size_t i = 0; i < items.size(); ++i) {
      const auto& item = items[i];
      const bool summarized = summary < items.size() && i < summary &&
                              (i < tail || (compaction < items.size() && i >= compaction));
      const bool is_summary = summary < items.size() && item.message == items[summary].message;
      if (is_summary) continue;
      if (!item.removed && summarized && item.kind != "compaction" && !item.continuation) {
        leave_out(item.message, "compacted");
      } else if (is_context(item)) {
        selected.push_back(&item);
      }
    }
    return selected;
  }

  void select_message(const std::string& message, std::vector<const TranscriptItem*>& selected) {
    for (const auto& item : transcript_->items) {
      if (item.message == message && is_context(item)) selected.push_back(&item);
    }
  }

  bool is_context(const TranscriptItem& item) {
    if (item.kind == "compaction" || item.continuation) return false;
    if (item.removed) {
      leave_out(item.message, "reverted");
    } else if (item.kind == "replay" || item.own_note) {
      leave_out(item.message, "replayed");
    } else if (item.kind == "reasoning" && !options_->reasoning) {
      leave_out(item.part, "reasoning");
    } else {
      return true;
    }
    return false;
  }

  void leave_out(const std::string& what, std::string reason) {
    auto& list = selection_left_out_;
    if (!list.empty() && list.back().what == what && list.back().reason == reason) return;
    list.push_back({what, std::move(reason)});
  }

  // Chooses what is shown within `tokens` for all, and writes the text.
  void compose(std::uint64_t tokens) {
    replay_.shown.clear();
    replay_.left_out = selection_left_out_;
    const auto newest_prompt = find_newest_prompt();
    const std::uint64_t reserved = newest_prompt ? prompt_tokens(*newest_prompt) : 0;
    replay_.least_tokens = frame_tokens_ + reserved;
    replay_.estimated_tokens = replay_.least_tokens;
    replay_.text.clear();
    if (replay_.least_tokens > tokens) return;
    const std::string body = choose(tokens - frame_tokens_, newest_prompt, reserved);
    std::reverse(replay_.shown.begin(), replay_.shown.end());
    const ReplayFrame frame(*transcript_, *options_, replay_.replay_id);
    replay_.text = frame.text(replay_.left_out, body);
    replay_.estimated_tokens = estimate_tokens(replay_.text);
  }

  std::optional<std::size_t> find_newest_prompt() const {
    for (std::size_t i = messages_.size(); i-- > 0;) {
      if (messages_[i].is_prompt() && messages_[i].first().child_of.empty()) return i;
    }
    return std::nullopt;
  }

  // The user's own words never shrink; what OpenCode attached to them may.
  std::uint64_t prompt_tokens(std::size_t prompt) const {
    return estimate_tokens(render_message(messages_[prompt], Fidelity::Elided));
  }

  std::string choose(std::uint64_t tokens,
                     std::optional<std::size_t> newest_prompt,
                     std::uint64_t reserved) {
    std::vector<std::string> texts;
    std::uint64_t used = 0;
    std::size_t level = 0;
    std::size_t at = messages_.size();
    for (; at > 0; --at) {
      const ReplayMessage& message = messages_[at - 1];
      const bool is_newest_prompt = newest_prompt == at - 1;
      if (is_newest_prompt) reserved = 0;
      auto text = fit(message, tokens - reserved, used, level, is_newest_prompt);
      if (!text && newest_prompt && at - 1 > *newest_prompt) {
        // Whatever came after the newest prompt, the prompt itself stands.
        leave_out_budget(message);
        continue;
      }
      if (!text) break;
      used += estimate_tokens(*text);
      texts.push_back(std::move(*text));
    }
    for (; at > 0; --at)
      leave_out_budget(messages_[at - 1]);
    std::string body;
    for (auto text = texts.rbegin(); text != texts.rend(); ++text)
      body += *text;
    return body;
  }

  // The message as fully as its share allows. Shares only shrink, so that fidelity never grows with
  // age.
  std::optional<std::string> fit(const ReplayMessage& message,
                                 std::uint64_t tokens,
                                 std::uint64_t used,
                                 std::size_t& level,
                                 bool must_stand) {
    for (std::size_t at = level; at < kFidelities.size(); ++at) {
      if (must_stand && at > 0) break;
      std::string text = render_message(message, kFidelities[at]);
      if (used + estimate_tokens(text) > tokens * kSharePercent[at] / 100) continue;
      level = at;
      return show(message, kFidelities[at], std::move(text));
    }
    if (must_stand) {
      level = std::max<std::size_t>(level, 1);
      return show(message, Fidelity::Elided, render_message(message, Fidelity::Elided));
    }
    level = kFidelities.size();
    return std::nullopt;
  }

  std::string show(const ReplayMessage& message, Fidelity fidelity, std::string text) {
    replay_.shown.push_back({message.first().message, fidelity});
    list_left_out(message, fidelity, replay_.left_out);
    return text;
  }

  void leave_out_budget(const ReplayMessage& message) {
    replay_.left_out.push_back({message.first().message, "budget"});
  }

  const Transcript* transcript_;
  const ReplayOptions* options_;
  std::vector<ReplayMessage> messages_;
  std::vector<LeftOut> selection_left_out_;
  std::uint64_t frame_tokens_ = 0;  // of everything around the messages
  Replay replay_;
};

}  // namespace

Replay render_replay(const Transcript& transcript, const ReplayOptions& options) {
  return Renderer(transcript, options).render();
}

}  // namespace respool
