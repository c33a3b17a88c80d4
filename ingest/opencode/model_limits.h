#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schema/error.h"

namespace respool {

// What a model takes in, in tokens.
struct ModelLimits {
  std::uint64_t context = 0;
  std::uint64_t output = 0;  // 0 where nobody says
};

// The limits of a model as OpenCode on this machine knows them: from OPENCODE_CONFIG_CONTENT, from
// opencode.json and opencode.jsonc in OpenCode's configuration folder, or from its copy of
// models.dev. Nothing where none of them tells; files that cannot be read tell nothing.
std::optional<ModelLimits> model_limits(const std::vector<std::string>& environment,
                                        const std::string& provider,
                                        const std::string& model);

// The model that OpenCode uses where nobody names one, "provider/model", as its configuration says.
// "" where it says nothing.
std::string default_model(const std::vector<std::string>& environment);

}  // namespace respool
