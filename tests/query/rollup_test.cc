#include <array>
#include <map>
#include <random>

#include <catch2/catch.hpp>
#include <date/iso_week.h>
#include <date/tz.h>
#include <fmt/format.h>

#include "engine/facts/step.h"

#include "query/views/session_view.h"
#include "query/views/usage_view.h"

#include "tests/support/synthetic.h"
#include "tests/support/temp_store.h"

namespace respool::test {
namespace {

using Millis = std::chrono::milliseconds;

constexpr auto kZones = std::to_array<const char*>({"UTC",
                                                    "Asia/Kathmandu",
                                                    "Australia/Lord_Howe",
                                                    "Europe/Berlin",
                                                    "America/New_York",
                                                    "Pacific/Chatham"});

// The label of a step, by the calendar and the step's own fields.
std::string label(UsageKey key, const StepOracle& step, const std::string& zone) {
  const auto local =
      date::locate_zone(zone)->to_local(date::sys_time<Millis>{Millis{step.created}});
  const auto day = date::floor<date::days>(local);
  switch (key) {
    case UsageKey::Session:
      return step.session;
    case UsageKey::Day:
      return date::format("%F", day);
    case UsageKey::Month:
      return date::format("%Y-%m", day);
    case UsageKey::Week: {
      const iso_week::year_weeknum_weekday week{day};
      return fmt::format(
          "{:04}-W{:02}", static_cast<int>(week.year()), static_cast<unsigned>(week.weeknum()));
    }
    case UsageKey::Model:
      return step.provider + "/" + step.model;
    case UsageKey::Provider:
      return step.provider;
    case UsageKey::Agent:
      return step.agent;
    default:
      return "";
  }
}

using Sums = std::map<std::vector<std::string>, std::array<std::int64_t, 7>>;

void add(std::array<std::int64_t, 7>& sum, const UsageSumOracle& usage) {
  const std::array<std::int64_t, 7> terms = {usage.steps,
                                             usage.input,
                                             usage.output,
                                             usage.reasoning,
                                             usage.cache_read,
                                             usage.cache_write,
                                             usage.cost_nanos};
  for (std::size_t i = 0; i < terms.size(); ++i)
    sum[i] += terms[i];
}

Sums expected_sums(const std::vector<StepOracle>& steps,
                   const std::vector<UsageKey>& by,
                   const Filter& filter,
                   const std::string& zone) {
  Sums sums;
  for (const auto& step : steps) {
    if (filter.since_ms && step.created < *filter.since_ms) continue;
    if (filter.until_ms && step.created >= *filter.until_ms) continue;
    std::vector<std::string> keys;
    for (const auto key : by)
      keys.push_back(label(key, step, zone));
    add(sums[keys], step.usage);
  }
  return sums;
}

Sums sums_of(const UsageAnswer& answer, bool grouped) {
  Sums sums;
  const auto put = [&](const UsageGroup& group) {
    const auto& u = group.usage;
    sums[group.keys] = {
        u.steps, u.input, u.output, u.reasoning, u.cache_read, u.cache_write, u.cost_nanos};
  };
  for (const auto& group : answer.groups)
    put(group);
  if (!grouped && answer.total.usage.steps > 0) put(answer.total);
  return sums;
}

}  // namespace

TEST_CASE("usage by any key, bound and zone equals an independent fold",
          "[query][usage][property]") {
  const unsigned seed = 4711;
  INFO("seed " << seed);
  const SyntheticHistory history = make_history(seed, 12, 120);
  TempStore store;
  for (const auto& bytes : history.exports)
    store.ingest(bytes);
  const StoreReader reader = store.reader();
  std::mt19937 random(seed);
  constexpr auto kKeys = std::to_array<UsageKey>({UsageKey::Session,
                                                  UsageKey::Day,
                                                  UsageKey::Week,
                                                  UsageKey::Month,
                                                  UsageKey::Model,
                                                  UsageKey::Provider,
                                                  UsageKey::Agent});

  for (int round = 0; round < 200; ++round) {
    std::vector<UsageKey> by;
    for (const auto key : kKeys) {
      if (random() % 4 == 0) by.push_back(key);
    }
    Filter filter;
    const auto& anchor = history.steps[random() % history.steps.size()];
    if (random() % 2 == 0)
      filter.since_ms = anchor.created + static_cast<std::int64_t>(random() % 3) - 1;
    if (random() % 2 == 0)
      filter.until_ms =
          anchor.created + static_cast<std::int64_t>(random() % 8'640'000'000) - 86'400'000;
    const std::string zone = kZones[random() % kZones.size()];
    INFO("round " << round << " zone " << zone);

    const auto answer = value(usage(reader, by, filter, value(Zone::find(zone)), nullptr, ""));

    CHECK((sums_of(answer, !by.empty()) == expected_sums(history.steps, by, filter, zone)));
  }
}

TEST_CASE("groups of every key add up to the total, visible and removed steps too",
          "[query][usage]") {
  TempStore store;
  store.ingest(corpus_file("events.sse"));
  store.ingest_file(data_path("captures/1.18.33/serve/revert/event.sse"));
  store.ingest_file(data_path("captures/1.18.33/run/tool-parallel.ndjson"));
  const StoreReader reader = store.reader();
  const auto zone = value(Zone::find("UTC"));
  const auto total = value(usage(reader, {}, {}, zone, nullptr, "")).total.usage;
  REQUIRE(total.removed_steps == 5);
  REQUIRE(total.copied_steps == 20);

  for (const auto key : {UsageKey::Session,
                         UsageKey::Project,
                         UsageKey::Host,
                         UsageKey::Root,
                         UsageKey::Tool,
                         UsageKey::Model,
                         UsageKey::Day}) {
    INFO(usage_key_name(key));
    fb::UsageRowT sum;
    const auto answer = value(usage(reader, {key}, {}, zone, nullptr, ""));
    for (const auto& group : answer.groups)
      add_usage(sum, group.usage);
    CHECK(sum == total);
    CHECK(answer.total.usage == total);
  }
  // Roots hold what their children spent.
  const auto sessions = value(reader.sessions());
  const auto roots = value(usage(reader, {UsageKey::Root}, {}, zone, nullptr, ""));
  for (const auto& group : roots.groups) {
    fb::UsageRowT tree;
    for (const auto* member : tree_of(sessions, group.keys.front()))
      add_usage(tree, *member->totals.usage);
    CHECK(group.usage.cost_nanos == tree.cost_nanos);
  }
}

TEST_CASE("usage and sessions read no events", "[query][usage]") {
  const SyntheticHistory history = make_history(1, 8, 60);
  TempStore store;
  for (const auto& bytes : history.exports)
    store.ingest(bytes);
  store.close();
  const auto read_only = value(Store::open(
      {.directory = store.path() / "store", .host = "test-host", .purpose = "test"}, Access::Read));
  const StoreReader reader(*read_only);

  for (const auto* zone : kZones) {
    value(
        usage(reader, {UsageKey::Day, UsageKey::Model}, {}, value(Zone::find(zone)), nullptr, ""));
    value(usage(reader, {}, {}, value(Zone::find(zone)), nullptr, ""));
  }
  value(list_sessions(reader, {}, {"", "test-host"}));

  CHECK(read_only->rows_read(Family::Log) == 0);
}

TEST_CASE("prices recompute the cost beside the recorded one", "[query][usage]") {
  TempStore store;
  store.ingest_file(data_path("captures/1.18.33/store/export-tools.json"));
  const auto recorded =
      value(usage(store.reader(), {UsageKey::Model}, {}, value(Zone::find("UTC")), nullptr, ""));
  REQUIRE(recorded.groups.size() == 1);
  // The prices the capture ran with: 1 and 2 dollars a million, 0.1 for cache reads.
  const Prices prices = {{recorded.groups.front().keys.front(),
                          Price{1'000'000'000, 2'000'000'000, 100'000'000, 200'000'000}}};

  const auto answer =
      value(usage(store.reader(), {UsageKey::Model}, {}, value(Zone::find("UTC")), &prices, ""));

  REQUIRE(answer.groups.size() == 1);
  CHECK(answer.groups.front().recomputed_cost_nanos == recorded.groups.front().usage.cost_nanos);
  CHECK(answer.groups.front().usage.cost_nanos == recorded.groups.front().usage.cost_nanos);
}

TEST_CASE("a model without a price has no recomputed cost", "[query][usage]") {
  TempStore store;
  store.ingest_file(data_path("captures/1.18.33/store/export-tools.json"));
  const Prices prices = {{"other/model", Price{1, 1, 1, 1}}};

  const auto answer = value(usage(store.reader(), {}, {}, value(Zone::find("UTC")), &prices, ""));

  CHECK_FALSE(answer.total.recomputed_cost_nanos.has_value());
}

}  // namespace respool::test
