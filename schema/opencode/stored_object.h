#pragma once

#include <optional>
#include <string_view>

#include "schema/opencode/json_fields.h"
#include "schema/opencode/shape.h"

namespace respool {

// What an observation shows of OpenCode's own.
enum class ObjectKind { Session, Message, Part };

// The object an observation carries, as OpenCode stores it: looked up in its envelope, or put
// together from the columns of a database's row. Fields that OpenCode has and we do not know are
// kept. A message's or part's ids may be absent: a row holds them in columns, and the caller knows
// them. Nothing where the bytes break off or hold no such object.
std::optional<JsonFields> stored_object(std::string_view raw, Shape shape, ObjectKind kind);

}  // namespace respool
