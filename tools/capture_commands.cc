#include "tools/command_tables.h"

namespace respool {
namespace {

std::vector<FlagSpec> run_flags() {
  std::vector<FlagSpec> flags = turn_flags();
  const std::vector<FlagSpec> more = {
      {"session", "ID", "continue this session", 's'},
      {"continue", "", "continue the project's newest session", 'c'},
      {"fork", "", "with --session or --continue: in a copy of it"},
      {"key", "KEY", "continue the session this key last bound here, or start one"},
      {"attach", "URL", "refused: a server's turn is recorded by \"respool watch\""}};
  flags.insert(flags.end(), more.begin(), more.end());
  return flags;
}

}  // namespace

std::vector<FlagSpec> turn_flags() {
  return {
      {"dir", "DIR", "the working directory (default: this one)"},
      {"model", "NAME", "provider/model", 'm'},
      {"agent", "NAME", "the agent to use"},
      {"variant", "NAME", "the model's variant, such as high"},
      {"file", "FILE", "attach a file: at most 16, 10 MiB each, 64 MiB together", 'f', true},
      {"thinking", "", "show the model's reasoning"},
      {"auto", "", "approve what the configuration would ask about"},
      {"title", "TEXT", "the session's title"},
      {"mode", "default|full_access|plan", "plan denies bash, write, edit, patch, task"},
      {"startup-timeout", "SECONDS", "end it when nothing is printed at first (default 120)"},
      {"idle-timeout", "SECONDS", "end it when nothing more is printed (default 600)"},
      {"turn-timeout", "SECONDS", "end it after so long altogether (default: never)"},
      {"max-withheld", "N", "end it after so many calls of withheld tools in a row (default 10)"},
      {"max-compactions", "N", "end it after so many compactions (default 5)"},
      {"result", "FILE", "write how it ended to FILE, as JSON"}};
}

std::vector<CommandSpec> capture_commands() {
  return {
      {"Capture",
       "ingest",
       "PATH...",
       "Read recordings of any shape, and bundles, into the store, verbatim",
       {"respool ingest run.ndjson",
        "opencode export ses_... | respool ingest -",
        "respool ingest --host ci-7 events.sse export.json"},
       {{"prompt-file", "FILE", "the prompt of the run, which run lines lack"},
        {"host", "NAME", "the host it happened on, which the source lacks"},
        {"run", "ID", "the run these lines belong to"}},
       false,
       run_ingest},
      {"Capture",
       "run",
       "[MESSAGE...]",
       "One turn of OpenCode, recorded; the prompt comes from stdin or is moved there",
       {"echo 'Fix the failing test' | respool run",
        "respool run --mode plan --turn-timeout 600 \"What does this repository do?\"",
        "respool run --key chat-42 --json < prompt.txt",
        "respool run 'Say hello' -- --print-logs"},
       run_flags(),
       false,
       run_run,
       true},
      {"Capture",
       "watch",
       "URL",
       "Record a running `opencode serve` until stopped; reconnect and fill gaps",
       {"respool watch http://127.0.0.1:4096",
        "OPENCODE_SERVER_PASSWORD=... respool watch http://box:4096 --host box"},
       {{"host", "NAME", "the host it runs on (default: this one, or the URL's)"}},
       false,
       run_watch},
      {"Capture",
       "sync",
       "",
       "Bring this machine's OpenCode databases into the store; again is cheap",
       {"respool sync", "respool sync --db ~/old/opencode.db --host laptop"},
       {{"db", "PATH", "this database (default: all of this user's)"},
        {"host", "NAME", "the host it comes from (default: this one)"},
        {"again", "", "read every row, also where nothing changed"}},
       false,
       run_sync},
      {"Capture",
       "plugin",
       "ACTION",
       "An OpenCode plugin that records every OpenCode of this user: install, remove, status, "
       "pause, resume",
       {"respool plugin install", "respool plugin status"},
       {},
       false,
       run_plugin},
  };
}

}  // namespace respool
