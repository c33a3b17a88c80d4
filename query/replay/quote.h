#pragma once

#include <string>
#include <string_view>

namespace respool {

// Text with what could deceive a reader taken out: control characters but newline and tab, escape
// sequences, bidirectional controls, zero-width characters. Bad UTF-8 becomes U+FFFD.
std::string plain_text(std::string_view text);

// plain_text on one line: newlines and tabs become spaces.
std::string one_line(std::string_view text);

// Each line of `text` behind "| ", after a line with `label` where there is one. "" for no text.
std::string quote(std::string_view label, std::string_view text);

// At most `bytes` from the front or back, cut between characters.
std::string_view clip_front(std::string_view text, std::size_t bytes);
std::string_view clip_back(std::string_view text, std::size_t bytes);

}  // namespace respool
