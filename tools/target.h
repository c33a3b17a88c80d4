#pragma once

#include "query/store_reader.h"

#include "tools/context.h"

namespace respool {

// The session and the point in it that a command was given: SESSION, --at, --before, --branch.
struct Target {
  SessionEntry entry;
  Point point;
};

// Errors: those of StoreReader::find() and parse_point().
Result<Target> find_target(const Arguments& arguments,
                           const Context& context,
                           const StoreReader& reader);

// NotFound: there is no store, so no session either.
Error no_store(const Context& context);

}  // namespace respool
