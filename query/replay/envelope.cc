#include "query/replay/envelope.h"

#include <algorithm>

#include <fmt/format.h>

#include "query/replay/quote.h"

namespace respool {
namespace {

// Cuts the next line off `text`, without its line end.
std::string_view take_line(std::string_view& text) {
  const auto end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

std::string_view take_word(std::string_view& line) {
  const auto end = std::min(line.find(' '), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return word;
}

// The id in a line that opens an envelope, "" where it opens none.
std::string_view opened_id(std::string_view line) {
  const std::string begin = fmt::format("<{} id=\"", kEnvelopeTag);
  if (!line.starts_with(begin) || !line.ends_with(">")) return {};
  line.remove_prefix(begin.size());
  const std::string_view id = line.substr(0, std::min(line.find('"'), line.size()));
  const bool hex = std::all_of(id.begin(), id.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
  });
  return hex ? id : std::string_view();
}

bool is_role(std::string_view word) {
  return word == "user" || word == "assistant" || word == "attached";
}

class ReplayReader {
 public:
  void line(std::string_view line) {
    if (line.starts_with("| ")) {
      quoted(line.substr(2));
      return;
    }
    content_begun_ = false;
    if (line.empty()) return;
    std::string_view rest = line;
    const std::string_view word = take_word(rest);
    if (is_role(word)) {
      at_.role = word;
      at_.message = take_word(rest);
      at_.time = take_word(rest);
      at_.label = "text";
    } else {
      at_.label = line;
    }
  }

  std::vector<ReplayedItem> finish() {
    for (auto& item : items_)
      item.text = unescape_content(item.text);
    return std::move(items_);
  }

 private:
  void quoted(std::string_view content) {
    if (content_begun_) {
      items_.back().text.append("\n").append(content);
      return;
    }
    content_begun_ = true;
    items_.push_back(at_);
    items_.back().text = content;
  }

  ReplayedItem at_;
  bool content_begun_ = false;
  std::vector<ReplayedItem> items_;
};

}  // namespace

std::string open_envelope(std::string_view id, int renderer_version) {
  return fmt::format("<{} id=\"{}\" renderer=\"{}\">\n", kEnvelopeTag, id, renderer_version);
}

std::string close_envelope(std::string_view id) {
  return fmt::format("</{} id=\"{}\">\n", kEnvelopeTag, id);
}

std::size_t replay_envelope_end(std::string_view text) {
  std::string_view rest = text;
  const std::string_view id = opened_id(take_line(rest));
  if (id.empty()) return 0;
  const std::string closing = fmt::format("\n{}", close_envelope(id));
  const auto at = text.find(closing);
  if (at != std::string_view::npos) return at + closing.size();
  // The text may end with the last line, whose line end somebody trimmed.
  const std::string_view trimmed = std::string_view(closing).substr(0, closing.size() - 1);
  return text.ends_with(trimmed) ? text.size() : 0;
}

std::optional<ReplayedText> parse_replay(std::string_view text) {
  const std::size_t end = replay_envelope_end(text);
  if (end == 0) return std::nullopt;
  std::string_view rest = text.substr(0, end);
  ReplayedText replay;
  replay.id = opened_id(take_line(rest));
  const std::string closing = close_envelope(replay.id);
  const std::string_view last = std::string_view(closing).substr(0, closing.size() - 1);
  ReplayReader reader;
  bool history = false;
  while (!rest.empty()) {
    const std::string_view line = take_line(rest);
    if (line == last) break;
    if (history) reader.line(line);
    history |= line == kHistoryLine;
  }
  replay.items = reader.finish();
  return replay;
}

}  // namespace respool
