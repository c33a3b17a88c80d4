#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tests/cli/home.h"
#include "tests/live/fixture.h"

namespace respool::test {

// One value of a JSON object, by a path such as "tokens/input": a string's text, anything else as
// JSON; "" where it is absent.
std::string field(std::string_view json, std::string_view path);
// The same of many lines.
std::vector<std::string> column(const std::vector<std::string>& lines, std::string_view path);

// The messages of the newest request that the model was sent for a session, as JSON; "" where it
// was asked nothing.
std::string last_request(const std::string& session);

enum class WhichStore : bool { First, Second };

// What a store says of one session, a line a fact, as far as `opencode run` shows it.
struct Facts {
  std::string usage;                 // steps, tokens, cost
  std::vector<std::string> tools;    // call, outcome, input, output, times, child session
  std::vector<std::string> answers;  // what the model said and its tools printed, by part
  std::vector<std::string> prompts;  // what the user said

  friend bool operator==(const Facts&, const Facts&) = default;
};
Facts facts_of(const LiveHome& home, WhichStore store, const std::string& session);

// Checks that both stores say the same; `what` names the case where they do not.
void check_same_facts(const LiveHome& home, const std::string& session, const std::string& what);

// Takes the export into the second store, and waits until the first says the same or a minute is
// over: a watch hears of a turn's end only after the one who asked for the turn.
void wait_for_export(const LiveHome& home, const std::string& session);

}  // namespace respool::test
