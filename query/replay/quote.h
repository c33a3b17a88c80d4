#pragma once

#include <string>
#include <string_view>

namespace respool {

// How content stands in a replay. Each of its lines begins with "| "; a character that a reader
// cannot see, that turns text around or that a terminal obeys stands as its number, ⟦u+1b⟧; so does
// the first character of what a model could take for a turn, a role or the end of the envelope.
// Bytes that are not UTF-8 stand as ⟦x+ff⟧. All of it can be undone.

// The text with such characters escaped; line ends and tabs stay.
std::string escape_content(std::string_view text);
std::string unescape_content(std::string_view text);

// The same on one line: line ends and tabs are escaped too.
std::string escape_line(std::string_view text);

// Each line of `text` behind "| ", after a line with `label` where there is one. "" for no text.
std::string quote(std::string_view label, std::string_view text);

// At most `bytes` from the front or back, cut between characters.
std::string_view clip_front(std::string_view text, std::size_t bytes);
std::string_view clip_back(std::string_view text, std::size_t bytes);

}  // namespace respool
