#include "tests/live/facts.h"

#include <algorithm>

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <simdjson.h>

namespace respool::test {
namespace {

// The named values of a line, as text.
std::string values_of(const std::string& line, const std::vector<std::string>& paths) {
  std::string text;
  for (const auto& path : paths) {
    const std::string value = field(line, path);
    if (!value.empty()) text += fmt::format("{}={} ", path, value);
  }
  return text;
}

// Where two texts part, so that a failure over a megabyte can be read.
std::string difference_of(const std::string& a, const std::string& b) {
  constexpr std::size_t kShown = 300;
  const auto [in_a, in_b] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  if (in_a == a.end() && in_b == b.end()) return "";
  const auto at = static_cast<std::size_t>(in_a - a.begin());
  const auto begin = at > kShown ? at - kShown : 0;
  return fmt::format(
      "at byte {}:\n  {}\n  {}", at, a.substr(begin, 2 * kShown), b.substr(begin, 2 * kShown));
}

// OpenCode prints no text that is empty, as that of an answer whose stream broke at once.
bool is_said(const std::string& kind) {
  return kind == "text" || kind == "reasoning";
}

std::string joined(const std::vector<std::string>& lines) {
  return fmt::format("{}", fmt::join(lines, "\n"));
}

}  // namespace

std::string field(std::string_view json, std::string_view path) {
  simdjson::dom::parser parser;
  simdjson::dom::element value;
  INFO(json.substr(0, 2000));
  REQUIRE(parser.parse(json.data(), json.size()).get(value) == simdjson::SUCCESS);
  while (!path.empty()) {
    const auto end = std::min(path.find('/'), path.size());
    if (value.at_key(path.substr(0, end)).get(value) != simdjson::SUCCESS) return "";
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  std::string_view text;
  if (value.get_string().get(text) == simdjson::SUCCESS) return std::string(text);
  return simdjson::to_string(value);
}

std::vector<std::string> column(const std::vector<std::string>& lines, std::string_view path) {
  std::vector<std::string> values;
  for (const auto& line : lines)
    values.push_back(field(line, path));
  return values;
}

std::string last_request(const std::string& session) {
  std::string last;
  for (const auto& request : ScriptedModel::instance().requests()) {
    if (field(request, "session") == session && field(request, "kind") == "chat")
      last = field(request, "messages");
  }
  return last;
}

Facts facts_of(const LiveHome& home, WhichStore store, const std::string& session) {
  const auto ask = [&](const std::vector<std::string>& arguments) {
    return store == WhichStore::First ? home.ask(arguments) : home.ask_second(arguments);
  };
  Facts facts;
  for (const auto& line : ask({"usage", "--by", "session", "--session", session, "--json"})) {
    if (field(line, "key") != session) continue;
    facts.usage = values_of(line, {"steps", "tokens", "cost_nanos", "visible_cost_nanos"});
  }
  for (const auto& line : ask({"tools", session, "--json"})) {
    facts.tools.push_back(values_of(line,
                                    {"message",
                                     "call",
                                     "tool",
                                     "title",
                                     "outcome",
                                     "exit",
                                     "started",
                                     "ended",
                                     "input_digest",
                                     "output_bytes",
                                     "child_session"}));
  }
  for (const auto& line : ask({"show", session, "--json"})) {
    const std::string kind = field(line, "kind");
    if (field(line, "role") == "user") {
      if (kind == "text") facts.prompts.push_back(field(line, "text"));
    } else if (kind == "tool" || (is_said(kind) && !field(line, "text").empty())) {
      facts.answers.push_back(
          values_of(line, {"message", "part", "kind", "tool", "input", "outcome", "text"}));
    }
  }
  return facts;
}

void check_same_facts(const LiveHome& home, const std::string& session, const std::string& what) {
  const Facts first = facts_of(home, WhichStore::First, session);
  const Facts second = facts_of(home, WhichStore::Second, session);

  INFO(what << " " << session);
  CHECK(first.usage == second.usage);
  CHECK(difference_of(joined(first.tools), joined(second.tools)) == "");
  CHECK(difference_of(joined(first.answers), joined(second.answers)) == "");
  for (const auto& prompt : first.prompts) {
    INFO("a prompt the other does not have: " << prompt);
    CHECK(std::ranges::find(second.prompts, prompt) != second.prompts.end());
  }
}

void wait_for_export(const LiveHome& home, const std::string& session) {
  home.ingest_export(session);
  const Facts wanted = facts_of(home, WhichStore::Second, session);
  becomes_true(std::chrono::seconds(60),
               [&] { return facts_of(home, WhichStore::First, session) == wanted; });
}

}  // namespace respool::test
