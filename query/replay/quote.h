#pragma once

#include <string>
#include <string_view>

#include "schema/opencode/plain_text.h"

namespace respool {

// plain_text on one line: newlines and tabs become spaces.
std::string one_line(std::string_view text);

// Each line of `text` behind "| ", after a line with `label` where there is one. "" for no text.
std::string quote(std::string_view label, std::string_view text);

// At most `bytes` from the front or back, cut between characters.
std::string_view clip_front(std::string_view text, std::size_t bytes);
std::string_view clip_back(std::string_view text, std::size_t bytes);

}  // namespace respool
