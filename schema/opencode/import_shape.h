#pragma once

#include <optional>
#include <string>
#include <vector>

#include "schema/opencode/json_fields.h"

namespace respool {

// What became of an object that was held against the shape `opencode import` demands.
struct Fitting {
  // The required field that is absent or of another type: the import would stop there, in the
  // middle of a session. "" where the object is acceptable.
  std::string unfit;
  // Optional fields that were of another type and are removed now: they too would stop it.
  std::vector<std::string> removed;
};

// Holds a message or a part against the schema of OpenCode 1.18.33, which newer and older 1.x
// versions share as far as an import is concerned. Unknown fields are not looked at: the importer
// drops them. `ids` of the object must be set.
Fitting fit_message(JsonFields& message);
Fitting fit_part(JsonFields& part);
Fitting fit_session(JsonFields& session);

}  // namespace respool
