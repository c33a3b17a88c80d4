#pragma once

#include "query/replay/mask.h"
#include "query/views/transcript.h"

namespace respool {

// Masks every text of a transcript: what was said, inputs and outputs of tools, titles, errors. All
// of it is learned from first, so that a secret is masked also where it stands before the place
// that gives it away.
void mask_transcript(Masker& masker, Transcript& transcript);

}  // namespace respool
