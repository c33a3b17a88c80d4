#pragma once

#include <string>
#include <vector>

#include "engine/integrity/verify.h"

namespace respool {

// One head as `verify --report` prints it and `verify --against` reads it.
std::string head_json(const HeadLine& head);

// Errors: InvalidArgument names the line that is no head.
Result<std::vector<HeadLine>> read_heads_file(const std::string& path);

}  // namespace respool
