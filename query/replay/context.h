#pragma once

#include "query/views/transcript.h"

namespace respool {

// A session's transcript with everything that belongs to its context put in place: where respool
// played another session into it as text, that session up to the same point, as far as the store
// has it; with `children`, each child session after the call that made it.
//
// Errors: those of read_transcript(). A session that is not here leaves the item that names it.
Result<Transcript> read_context(const StoreReader& reader,
                                SessionNumber number,
                                const Point& point,
                                bool children);

}  // namespace respool
