#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace respool {

// The text form of a replay. One line opens it and one closes it, both with the same id; lines that
// begin with "| " are quoted content (query/replay/quote.h), all others are respool's own: the
// head, a line for each message, a line for each of its items that is more than text. Nothing
// quoted can begin a line, so nothing in it can close the envelope or add to what respool says.

inline constexpr std::string_view kEnvelopeTag = "respool-replay";
// Ends the head; what was said and done follows.
inline constexpr std::string_view kHistoryLine = "[history]";

std::string open_envelope(std::string_view id, int renderer_version);
std::string close_envelope(std::string_view id);

// Where the envelope that `text` begins with ends, its last line end included. 0 where `text`
// begins with none, or with one that nothing closes.
std::size_t replay_envelope_end(std::string_view text);

// One item as it stands in an envelope.
struct ReplayedItem {
  std::string role;     // user, assistant, attached
  std::string message;  // its id, "-" where it has none
  std::string time;     // RFC 3339, "-" where unknown
  std::string label;    // "text", or respool's line above the content, such as "input"
  std::string text;     // the content, unescaped
};
struct ReplayedText {
  std::string id;
  std::vector<ReplayedItem> items;
};

// Reads an envelope back. Nothing where `text` begins with none.
std::optional<ReplayedText> parse_replay(std::string_view text);

}  // namespace respool
