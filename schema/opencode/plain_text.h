#pragma once

#include <string>
#include <string_view>

namespace respool {

// Text with what could deceive a reader taken out: control characters but newline and tab, escape
// sequences, bidirectional controls, zero-width characters. Bad UTF-8 becomes U+FFFD.
std::string plain_text(std::string_view text);

// The same on one line: line ends and tabs become spaces.
std::string one_line(std::string_view text);

}  // namespace respool
