#pragma once

#include <string>

#include "schema/descriptor.h"

#include "tools/context.h"

namespace respool {

// The right to continue a session, on this host: one at a time has it, and it ends with the
// process.
//
// Errors: StoreBusy names who has it. "" for no session takes none.
Result<Descriptor> take_lease(const Context& context, const std::string& session);

}  // namespace respool
