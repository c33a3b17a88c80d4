#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "query/views/filter.h"
#include "query/zone.h"

namespace respool {

// What usage can be grouped by. A step is one group's by its tools together ("bash,read"), so that
// groups of tools add up to the total like all others.
enum class UsageKey {
  Session,
  Day,
  Week,
  Month,
  Model,
  Provider,
  Agent,
  Project,
  Host,
  Root,
  Tool
};

std::optional<UsageKey> parse_usage_key(std::string_view name);
std::string_view usage_key_name(UsageKey key);

// Nano-dollars for a million tokens of each kind.
struct Price {
  std::int64_t input = 0;
  std::int64_t output = 0;
  std::int64_t cache_read = 0;
  std::int64_t cache_write = 0;
};
// By "provider/model".
using Prices = std::map<std::string, Price>;

struct UsageGroup {
  std::vector<std::string> keys;  // one for each of the query's keys; "" is unknown
  fb::UsageRowT usage;
  std::optional<std::int64_t> recomputed_cost_nanos;  // where prices were given for all of it
};

struct UsageAnswer {
  std::vector<UsageGroup> groups;  // sorted by keys
  UsageGroup total;
};

// Sums what was spent, by the keys given. Whole quarters of an hour come from rollups; what a bound
// or a day's end cuts through comes from the steps in it. Reads no events.
Result<UsageAnswer> usage(const StoreReader& reader,
                          const std::vector<UsageKey>& by,
                          const Filter& filter,
                          const Zone& zone,
                          const Prices* prices,
                          const std::string& here);

}  // namespace respool
