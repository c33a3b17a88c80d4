#include <algorithm>
#include <random>

#include <catch2/catch.hpp>

#include "query/views/session_view.h"

#include "tests/support/temp_store.h"

namespace respool::test {
namespace {

fs::path revert(const std::string& file) {
  return data_path("captures/1.18.33/serve/revert/" + file);
}

fb::UsageRowT usage_of(const TempStore& store) {
  const auto sessions = value(store.reader().sessions());
  REQUIRE(sessions.size() == 1);
  return *sessions.front().totals.usage;
}

}  // namespace

TEST_CASE("a revert takes nothing back from what was spent, in any order of the sources",
          "[query][usage]") {
  std::vector<std::string> files = {"event.sse", "global-event.sse", "messages.0.json"};
  std::sort(files.begin(), files.end());
  do {
    INFO(files[0] + " " + files[1] + " " + files[2]);
    TempStore store;

    for (const auto& file : files)
      store.ingest_file(revert(file));

    const auto usage = usage_of(store);
    CHECK(usage.cost_nanos == 49'690'000);
    CHECK(usage.visible_cost_nanos == 8'073'000);
    CHECK(usage.removed_steps == 5);
    CHECK(usage.steps == 6);
    CHECK(usage.visible_steps == 1);
  } while (std::next_permutation(files.begin(), files.end()));
}

TEST_CASE("the last messages alone show only what is left: spent equals visible",
          "[query][usage]") {
  TempStore store;

  store.ingest_file(revert("messages.0.json"));

  const auto usage = usage_of(store);
  CHECK(usage.cost_nanos == 8'073'000);
  CHECK(usage.visible_cost_nanos == 8'073'000);
  CHECK(usage.removed_steps == 0);
}

TEST_CASE("a removal that arrives before everything else still counts", "[query][usage]") {
  auto lines = delivered_lines(read_file(revert("event.sse")));
  std::reverse(lines.begin(), lines.end());
  std::string bytes;
  for (const auto& line : lines)
    bytes += line + "\n";
  TempStore store;

  store.ingest(bytes);

  CHECK(usage_of(store).visible_cost_nanos == 8'073'000);
  CHECK(usage_of(store).cost_nanos == 49'690'000);
}

}  // namespace respool::test
