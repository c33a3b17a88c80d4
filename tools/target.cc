#include "tools/target.h"

#include <fmt/format.h>

namespace respool {

Result<Target> find_target(const Arguments& arguments,
                           const Context& context,
                           const StoreReader& reader) {
  Target target;
  RESPOOL_TRY(target.entry, reader.find(arguments.value("SESSION"), context.here()));
  RESPOOL_TRY(const auto zone, context.zone(arguments));
  if (arguments.has("at") && arguments.has("before")) {
    return Error(ErrorCode::InvalidArgument, "--at and --before exclude each other");
  }
  if (arguments.has("at")) {
    RESPOOL_TRY(target.point, parse_point(arguments.value("at"), false, zone, now_ms()));
  }
  if (arguments.has("before")) {
    RESPOOL_TRY(target.point, parse_point(arguments.value("before"), true, zone, now_ms()));
  }
  if (arguments.has("branch")) {
    RESPOOL_TRY(target.point.branch, reader.find_origin(arguments.value("branch")));
  }
  return target;
}

Error no_store(const Context& context) {
  return Error(ErrorCode::NotFound,
               fmt::format("the store {} is empty", context.store_directory().string()),
               "respool sync, or opencode export SESSION | respool ingest -");
}

}  // namespace respool
