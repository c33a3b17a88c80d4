#pragma once

#include <string>
#include <vector>

#include "engine/facts/session_gaps.h"

#include "query/views/filter.h"

namespace respool {

// One line of `gaps`: what is missing or wrong, and the command that would fill it ("" where none).
struct GapLine {
  std::string session;  // "" for what belongs to none
  Gap gap;
  std::string fill;
};

Result<std::vector<GapLine>> list_gaps(const StoreReader& reader,
                                       const Filter& filter,
                                       const std::string& here);

}  // namespace respool
