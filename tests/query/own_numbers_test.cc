#include <catch2/catch.hpp>
#include <simdjson.h>

#include "schema/money.h"

#include "engine/facts/merge_order.h"
#include "engine/facts/session_gaps.h"

#include "query/views/transcript.h"

#include "tests/support/oracle.h"
#include "tests/support/temp_store.h"

namespace respool::test {
namespace {

bool has_gap(const SessionFacts& facts, GapKind kind, const std::string& where) {
  for (const auto& gap : session_gaps(facts)) {
    if (gap.kind == kind && gap.where == where) return true;
  }
  return false;
}

// Replaces the first occurrence at or after `from`.
void replace_after(std::string& text,
                   const std::string& from,
                   const std::string& what,
                   const std::string& with) {
  const auto begin = text.find(from);
  REQUIRE(begin != std::string::npos);
  const auto at = text.find(what, begin);
  REQUIRE(at != std::string::npos);
  text.replace(at, what.size(), with);
}

}  // namespace

TEST_CASE("an export's visible steps, tokens and cost are OpenCode's own", "[query][usage]") {
  std::size_t exports = 0;
  for (const auto& file : captures("store", ".json")) {
    const std::string bytes = read_file(file);
    if (bytes.empty()) continue;  // an export of a dead session prints nothing
    INFO(short_name(file));
    ++exports;
    const ExportOracle expected = read_export(bytes);
    TempStore store;

    store.ingest(bytes);

    const auto sessions = value(store.reader().sessions());
    REQUIRE(sessions.size() == 1);
    const auto& usage = *sessions.front().totals.usage;
    CHECK(sessions.front().row.id == expected.session);
    CHECK(usage.visible_steps == expected.sum.steps);
    CHECK(usage.visible_input == expected.sum.input);
    CHECK(usage.visible_output == expected.sum.output);
    CHECK(usage.visible_reasoning == expected.sum.reasoning);
    CHECK(usage.visible_cache_read == expected.sum.cache_read);
    CHECK(usage.visible_cache_write == expected.sum.cache_write);
    CHECK(usage.visible_cost_nanos == expected.sum.cost_nanos);
    if (expected.info_cost_nanos) CHECK(usage.visible_cost_nanos == *expected.info_cost_nanos);
    if (expected.info_tokens) {
      CHECK(usage.visible_input + usage.visible_output + usage.visible_reasoning +
                usage.visible_cache_read + usage.visible_cache_write ==
            *expected.info_tokens);
    }
    CHECK(usage.removed_steps == 0);
    CHECK(usage.copied_steps == 0);
    CHECK_FALSE(has_gap(store.facts(expected.session), GapKind::UsageDisagrees, "session"));
  }
  CHECK(exports >= 20);
}

TEST_CASE("an export's messages and parts come in its own order", "[query][transcript]") {
  for (const auto& file : captures("store", ".json")) {
    const std::string bytes = read_file(file);
    if (bytes.empty()) continue;
    INFO(short_name(file));
    const ExportOracle expected = read_export(bytes);
    TempStore store;

    store.ingest(bytes);

    const auto facts = store.facts(expected.session);
    std::vector<std::string> messages;
    std::vector<std::string> parts;
    for (const auto& ordered : message_order(facts)) {
      messages.push_back(*ordered.id);
      for (const auto* part : part_order(*ordered.message, ordered.time_ms))
        parts.push_back(part->id);
    }
    CHECK(messages == expected.messages);
    CHECK(parts == expected.parts);
  }
}

TEST_CASE("with totals falsified the steps still count, and usage_disagrees says so",
          "[query][usage]") {
  std::string bytes = read_file(data_path("captures/1.18.33/store/export-tools.json"));
  const ExportOracle expected = read_export(bytes);
  const std::string cost = nanos_to_decimal(*expected.info_cost_nanos);
  replace_after(bytes, "\"info\"", "\"cost\": ", "\"cost\": 9");
  const auto step = bytes.find("\"role\": \"assistant\"");
  REQUIRE(step != std::string::npos);
  replace_after(bytes, "\"role\": \"assistant\"", "\"input\": ", "\"input\": 7");
  TempStore store;

  store.ingest(bytes);

  const auto session = value(store.reader().sessions()).front();
  CHECK(session.totals.usage->cost_nanos == expected.sum.cost_nanos);
  CHECK(session.totals.usage->input == expected.sum.input);
  const auto facts = store.facts(expected.session);
  CHECK(has_gap(facts, GapKind::UsageDisagrees, "session"));
  bool message_disagrees = false;
  for (const auto& gap : session_gaps(facts))
    message_disagrees |= gap.kind == GapKind::UsageDisagrees && gap.where != "session";
  CHECK(message_disagrees);
}

TEST_CASE("over the corpus, the event stream alone folds to the exports", "[query][corpus]") {
  TempStore from_stream;
  from_stream.ingest(corpus_file("events.sse"));
  TempStore from_exports;
  from_exports.ingest(corpus_file("exports.ndjson"));
  REQUIRE(from_stream.session_ids() == from_exports.session_ids());
  REQUIRE(from_stream.session_ids().size() == 43);

  std::size_t messages = 0;
  std::size_t parts = 0;
  for (const auto& id : from_exports.session_ids()) {
    INFO(id);
    const auto streamed = from_stream.facts(id);
    const auto exported = from_exports.facts(id);
    CHECK(content_of(streamed.session) == content_of(exported.session));
    for (const auto& [message_id, message] : exported.messages) {
      INFO(message_id);
      const auto& other = streamed.messages.at(message_id);
      CHECK(content_of(*other.row) == content_of(*message.row));
      CHECK_FALSE(is_removed(*other.row));
      ++messages;
      for (const auto& [part_id, part] : message.parts) {
        CHECK(content_of(other.parts.at(part_id)) == content_of(part));
        ++parts;
      }
    }
    for (const auto& [message_id, message] : streamed.messages) {
      INFO(message_id);
      const bool gone = message.row && is_removed(*message.row);
      CHECK(gone != exported.messages.contains(message_id));
      if (gone) continue;
      for (const auto& [part_id, part] : message.parts) {
        CHECK(is_removed(part) != exported.messages.at(message_id).parts.contains(part_id));
      }
    }
  }
  CHECK(messages == 992);
  CHECK(parts == 2967);
}

TEST_CASE("over the corpus, the event stream alone folds to the end state of opencode.db",
          "[query][corpus]") {
  TempStore store;
  store.ingest(corpus_file("events.sse"));
  const DatabaseOracle database = read_database(corpus_file("opencode.db"));
  REQUIRE(database.messages.size() == 992);
  REQUIRE(database.parts.size() == 2967);

  std::map<std::string, SessionFacts> facts;
  for (const auto& id : store.session_ids())
    facts.emplace(id, store.facts(id));

  for (const auto& row : database.messages) {
    INFO(row.id);
    CHECK(content_of(*facts.at(row.session).messages.at(row.id).row) == content_of(row.content));
  }
  for (const auto& row : database.parts) {
    INFO(row.id);
    CHECK(content_of(facts.at(row.session).messages.at(row.message).parts.at(row.id)) ==
          content_of(row.content));
  }
}

}  // namespace respool::test
