#pragma once

#include <string>

namespace respool {

// Something of a session that a replay does not hold.
struct LeftOut {
  std::string what;    // a message id, or a part id
  std::string reason;  // budget one_line tools_counted input_elided output_elided compacted
                       // reverted reasoning other_branch replayed
};

}  // namespace respool
