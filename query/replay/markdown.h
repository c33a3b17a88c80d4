#pragma once

#include <string>

#include "query/views/transcript.h"

namespace respool {

// A transcript for people, as Markdown: what was said as it was said, tool calls with their input,
// outcome and output, long outputs folded away, and what is missing or was taken back.
//
// Purity: a function of its arguments. Content cannot end the block it stands in, and control
// characters are removed; HTML in it is shown, not obeyed.
std::string render_markdown(const Transcript& transcript, bool reasoning);

}  // namespace respool
