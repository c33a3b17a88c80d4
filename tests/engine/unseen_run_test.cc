#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "engine/facts/session_gaps.h"

#include "tests/support/temp_store.h"

namespace respool::test {
namespace {

constexpr std::int64_t kBegan = kNow;

std::string run_note(const std::string& type, std::int64_t time, const std::string& more) {
  return fmt::format(
      R"({{"type":"respool.run.{}","timestamp":{},"sessionID":"ses_1","run":"run_a"{}}})",
      type,
      time,
      more);
}

// An answer as an export of the session shows it afterwards.
std::string exported(std::int64_t created) {
  return fmt::format(
      R"({{"info":{{"id":"ses_1","time":{{"created":1}}}},"messages":[{{"info":{{"id":"msg_1","sessionID":"ses_1",)"
      R"("role":"assistant","time":{{"created":{0},"completed":{0}}}}},"parts":[]}}]}})",
      created);
}

bool is_listed(TempStore& store) {
  for (const auto& gap : session_gaps(store.facts("ses_1"))) {
    if (gap.kind == GapKind::ExecutedUnobserved && gap.where == "run_a") return true;
  }
  return false;
}

}  // namespace

TEST_CASE("an answer of the time of a run that was ended, and that nobody saw, is a gap",
          "[engine][facts]") {
  struct Case {
    const char* outcome;
    std::int64_t created;
    bool unseen;
  };
  for (const auto& [outcome, created, unseen] : {Case{"startup_timeout", kBegan + 5, true},
                                                 Case{"aborted", kBegan + 5, true},
                                                 Case{"completed", kBegan + 5, false},
                                                 Case{"startup_timeout", kBegan - 5, false},
                                                 Case{"startup_timeout", kBegan + 500, false}}) {
    INFO(outcome << " " << created - kBegan);
    TempStore store;
    store.ingest(run_note("started", kBegan, R"(,"resumed":"ses_1")") + "\n" +
                 run_note("ended", kBegan + 100, fmt::format(R"(,"outcome":"{}")", outcome)) +
                 "\n");
    store.ingest(exported(created));

    CHECK(is_listed(store) == unseen);
    CHECK(damage_of(store.store()) == "");
  }
}

TEST_CASE("an answer that the run printed is no gap though the run was ended", "[engine][facts]") {
  TempStore store;
  store.ingest(
      run_note("started", kBegan, "") + "\n" +
      fmt::format(
          R"({{"type":"step_start","timestamp":{},"sessionID":"ses_1","part":{{"id":"prt_1","sessionID":"ses_1","messageID":"msg_1","type":"step-start"}}}})",
          kBegan + 5) +
      "\n" + run_note("ended", kBegan + 100, R"(,"outcome":"turn_timeout")") + "\n");
  store.ingest(exported(kBegan + 5));

  CHECK_FALSE(is_listed(store));
}

}  // namespace respool::test
