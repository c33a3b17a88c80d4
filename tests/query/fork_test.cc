#include <catch2/catch.hpp>

#include "query/views/gap_view.h"
#include "query/views/session_view.h"
#include "query/views/usage_view.h"

#include "tests/support/oracle.h"
#include "tests/support/temp_store.h"

namespace respool::test {
namespace {

fs::path exported(const std::string& name) {
  return data_path("captures/1.18.33/store/" + name);
}

UsageGroup total(const TempStore& store) {
  return value(usage(store.reader(), {}, {}, value(Zone::find("UTC")), nullptr, "")).total;
}

SessionLine line_of(const TempStore& store, const std::string& session) {
  Filter filter;
  filter.session = session;
  return value(list_sessions(store.reader(), filter, {"", "test-host"})).front();
}

// The same export as another fork of the same origin: new ids, later creation, equal steps.
std::string another_fork(std::string bytes, const ExportOracle& fork) {
  const auto replace_all = [&](const std::string& what, const std::string& with) {
    for (auto at = bytes.find(what); at != std::string::npos;
         at = bytes.find(what, at + with.size()))
      bytes.replace(at, what.size(), with);
  };
  replace_all(fork.session, fork.session.substr(0, fork.session.size() - 2) + "Zz");
  for (const auto& id : fork.messages)
    replace_all(id, id.substr(0, id.size() - 2) + "Zz");
  for (const auto& id : fork.parts)
    replace_all(id, id.substr(0, id.size() - 2) + "Zz");
  return bytes;
}

}  // namespace

TEST_CASE("a fork beside its origin counts the copied steps once, whichever comes first",
          "[query][usage][forks]") {
  // export-plain is the origin of export-fork.
  const std::string fork_bytes = read_file(exported("export-fork.json"));
  const ExportOracle fork = read_export(fork_bytes);
  std::string origin_bytes;
  for (const auto& file : captures("store", ".json")) {
    const std::string bytes = read_file(file);
    if (bytes.empty() || bytes == fork_bytes || file.string().find("1.18.33") == std::string::npos)
      continue;
    const auto candidate = read_export(bytes);
    const bool same =
        !candidate.steps.empty() && candidate.steps.front().created == fork.steps.front().created;
    if (same && candidate.created < fork.created) origin_bytes = bytes;
  }
  REQUIRE_FALSE(origin_bytes.empty());
  const ExportOracle origin = read_export(origin_bytes);

  for (const bool fork_first : {true, false}) {
    INFO("fork first: " << fork_first);
    TempStore store;

    store.ingest(fork_first ? fork_bytes : origin_bytes);
    store.ingest(fork_first ? origin_bytes : fork_bytes);

    CHECK(total(store).usage.cost_nanos == origin.sum.cost_nanos);
    CHECK(total(store).usage.steps == origin.sum.steps);
    CHECK(total(store).usage.copied_steps == fork.sum.steps);
    const auto line = line_of(store, fork.session);
    CHECK(line.forked_from == origin.session);
    CHECK(line.family_cost_nanos == origin.sum.cost_nanos);
    CHECK(line.entry.totals.usage->cost_nanos == 0);
  }
}

TEST_CASE("two forks without their origin count once, and the origin takes the steps over",
          "[query][usage][forks]") {
  const std::string first = read_file(exported("export-fork.json"));
  const ExportOracle fork = read_export(first);
  const std::string second = another_fork(first, fork);
  TempStore store;

  store.ingest(second);
  store.ingest(first);

  CHECK(total(store).usage.cost_nanos == fork.sum.cost_nanos);
  CHECK(total(store).usage.copied_steps == fork.sum.steps);

  // The origin: the same steps in a session that is older than they are.
  std::string origin = another_fork(second, read_export(second));
  const std::string id = read_export(second).session;
  const auto at = origin.find(std::to_string(fork.created));
  REQUIRE(at != std::string::npos);
  origin.replace(
      at, std::to_string(fork.created).size(), std::to_string(fork.steps.front().created - 1000));
  const auto rename = [&](const std::string& what, const std::string& with) {
    for (auto found = origin.find(what); found != std::string::npos;
         found = origin.find(what, found + with.size()))
      origin.replace(found, what.size(), with);
  };
  const auto doubled = read_export(origin);
  rename(doubled.session, "ses_the_origin");
  for (const auto& message : doubled.messages)
    rename(message, message.substr(0, message.size() - 2) + "Oo");
  for (const auto& part : doubled.parts)
    rename(part, part.substr(0, part.size() - 2) + "Oo");
  store.ingest(origin);

  CHECK(damage_of(store.store()) == "");
  CHECK(total(store).usage.cost_nanos == fork.sum.cost_nanos);
  CHECK(total(store).usage.copied_steps == 2 * fork.sum.steps);
  CHECK(line_of(store, "ses_the_origin").entry.totals.usage->cost_nanos == fork.sum.cost_nanos);
  CHECK(line_of(store, fork.session).forked_from == "ses_the_origin");
}

TEST_CASE("a tree's cost includes its children's", "[query][sessions]") {
  TempStore store;
  store.ingest_file(exported("export-parent.json"));
  const auto parent = read_export(read_file(exported("export-parent.json")));
  const auto child = read_export(read_file(exported("export-child.json")));
  const auto missing = [&] {
    std::size_t count = 0;
    for (const auto& gap : value(list_gaps(store.reader(), {}, "")))
      count += gap.gap.kind == GapKind::ChildNotCaptured ? 1 : 0;
    return count;
  };
  CHECK(missing() == 1);
  CHECK_FALSE(line_of(store, parent.session).complete);

  store.ingest_file(exported("export-child.json"));

  CHECK(missing() == 0);
  CHECK(line_of(store, parent.session).tree.cost_nanos ==
        parent.sum.cost_nanos + child.sum.cost_nanos);
  CHECK(line_of(store, parent.session).entry.totals.usage->cost_nanos == parent.sum.cost_nanos);
  const auto edges = value(list_lineage(store.reader(), {}, ""));
  REQUIRE(edges.size() == 1);
  CHECK(edges.front().from == parent.session);
  CHECK(edges.front().to == child.session);
  CHECK(edges.front().kind == "child");
}

}  // namespace respool::test
