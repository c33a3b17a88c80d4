#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace respool::bench {

// Events as GET /event delivers them, from a seed: the same bytes each time, on every machine.
// Sizes follow what was recorded: median about 440 bytes, mean 5 KB, one in a hundred above 83 KB,
// and at most 4 MB. A turn is a prompt, steps with text, tools and usage, and the session's idle.
std::vector<std::string> make_events(unsigned seed, std::size_t count);

}  // namespace respool::bench
