#include "tools/command_tables.h"

namespace respool {
namespace {

// What resume and fork have in common.
std::vector<FlagSpec> continuation_flags() {
  std::vector<FlagSpec> flags = {
      {"rung", "auto|native|import|prefix", "how its context gets there (default: the best)"},
      {"dry-run", "", "say how it would go on, and do nothing"},
      {"no-prompt", "", "only prepare it, and print the command that opens it"},
      {"open", "", "prepare it and open it in OpenCode"},
      {"server", "URL", "put its text into a session of this running server, without a turn"},
      {"map-paths", "", "import: rewrite the old directory in tool inputs to the new one"},
      {"budget", "TOKENS", "prefix: at most this many tokens (default: half the model's window)"},
      {"reasoning", "", "prefix: include the model's reasoning"},
      {"children", "", "prefix: include what child sessions did"},
      {"no-mask", "", "prefix: leave secrets as they are"},
      {"branch", "ORIGIN", "where stores recorded it going on apart: this one's branch"},
      {"tz", "ZONE", "the zone of dates in --at"}};
  const auto turn = turn_flags();
  flags.insert(flags.end(), turn.begin(), turn.end());
  return flags;
}

std::vector<FlagSpec> fork_flags() {
  std::vector<FlagSpec> flags = {
      {"at", "POINT", "up to a cursor of `events`, a message id or a time"},
      {"before", "MESSAGE", "up to this message, leaving it out"}};
  const auto more = continuation_flags();
  flags.insert(flags.end(), more.begin(), more.end());
  return flags;
}

}  // namespace

std::vector<CommandSpec> replay_commands() {
  return {
      {"Play back",
       "replay",
       "SESSION",
       "Render a session's context as text, ready to stand before a prompt",
       {"respool replay ses_22e1 --budget 8000",
        "respool replay @last --format markdown > session.md",
        "respool replay @last --format json"},
       {{"at", "POINT", "a cursor of `events`, a message id or a time"},
        {"before", "MESSAGE", "up to this message, leaving it out"},
        {"branch", "ORIGIN", "where stores recorded it going on apart: this one's branch"},
        {"budget", "TOKENS", "at most this many tokens, by estimate (default 32000)"},
        {"reasoning", "", "include the model's reasoning"},
        {"children", "", "include what child sessions did"},
        {"dir", "DIR", "name the directory it goes on in, and compare the files it touched there"},
        {"no-mask", "", "leave secrets as they are"},
        {"format",
         "prefix|markdown|json",
         "the text alone, a transcript for people, or the text with what was kept and left out"},
        {"tz", "ZONE", "the zone of dates in --at"}},
       false,
       run_replay},
      {"Play back",
       "resume",
       "SESSION",
       "Continue a session with the prompt on stdin, on the best rung that works here",
       {"echo 'And now the tests' | respool resume ses_22e1",
        "respool resume @last --no-prompt",
        "respool resume ses_22e1 --dir . --dry-run --json"},
       continuation_flags(),
       false,
       run_resume,
       true},
      {"Play back",
       "fork",
       "SESSION",
       "The same into a new session, from any point on, leaving the old one as it is",
       {"echo 'Try it with a queue' | respool fork ses_22e1 --before msg_22e3",
        "respool fork @last --at 2026-11-30T20:30:00Z --no-prompt"},
       fork_flags(),
       false,
       run_fork,
       true},
  };
}

}  // namespace respool
