#pragma once

#include <string>
#include <vector>

#include "schema/error.h"

#include "query/replay/mask.h"
#include "query/views/usage_view.h"

namespace respool {

// $XDG_CONFIG_HOME/respool/config.json. Flags and environment beat it.
struct Config {
  std::string store;                         // "store": the store's folder
  std::string host;                          // "host": this machine's name
  std::vector<std::string> capture_exclude;  // "capture": {"exclude": [...]}: directories
  std::vector<MaskRule> mask;                // "replay": {"mask": [{"kind": ..., "pattern": ...}]}
};
Config read_config();

// Reads prices in the form of models.dev, which is OpenCode's own too:
//   {"anthropic": {"models": {"claude": {"cost": {"input": 3, "output": 15, "cache_read": 0.3}}}}}
// in dollars for a million tokens; also below "provider", as in opencode.json.
Result<Prices> read_prices(const std::string& path);

}  // namespace respool
