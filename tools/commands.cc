#include "tools/command.h"

namespace respool {

const std::vector<FlagSpec>& global_flags() {
  static const std::vector<FlagSpec> flags = {
      {"store", "DIR", "the store (or RESPOOL_STORE; default $XDG_DATA_HOME/respool)"},
      {"json", "", "one JSON object a line on stdout, errors as JSON on stderr"},
      {"quiet", "", "no progress, no remarks"},
      {"color", "auto|always|never", "colour on a terminal (NO_COLOR is honoured)"},
      {"wait", "SECONDS", "how long to wait for another writer of the store"},
      {"help", "", "this text"},
      {"version", "", "the version"},
  };
  return flags;
}

const std::vector<FlagSpec>& filter_flags() {
  static const std::vector<FlagSpec> flags = {
      {"since", "T", "from this time on: RFC 3339, a date, 7d, yesterday"},
      {"until", "T", "up to this time, not including it"},
      {"tz", "ZONE", "the zone of dates, days, weeks and months (default: this machine's)"},
      {"host", "NAME", "only what happened on this host"},
      {"dir", "DIR", "only sessions of this directory"},
      {"project", "ID", "only sessions of this OpenCode project"},
      {"model", "NAME", "only this model: provider/model, or either"},
      {"agent", "NAME", "only this agent"},
      {"tree", "", "with SESSION: its child sessions too"},
      {"limit", "N", "at most this many"},
  };
  return flags;
}

const std::vector<CommandSpec>& all_commands() {
  static const std::vector<CommandSpec> commands = {
      {"Capture", "ingest", "PATH...", "Read recordings of any shape into the store, verbatim",
       {"respool ingest run.ndjson", "opencode export ses_... | respool ingest -", "respool ingest --host ci-7 events.sse export.json"},
       {{"prompt-file", "FILE", "the prompt of the run, which run lines lack"},
        {"host", "NAME", "the host it happened on, which the source lacks"},
        {"run", "ID", "the run these lines belong to"}},
       false, run_ingest},
      {"Ask", "sessions", "[SESSION]", "List sessions: what they are, what they spent",
       {"respool sessions", "respool sessions --since 7d --json"},
       {{"state", "STATE", "only alive, gone, dead or unknown ones"}}, true, run_sessions},
      {"Ask", "show", "SESSION", "Show a session's conversation, now or at a point",
       {"respool show ses_22e1", "respool show @last --at 2026-11-30T20:30:00Z"},
       {{"at", "POINT", "a cursor of `events`, a message id or a time"},
        {"before", "MESSAGE", "up to this message, leaving it out"},
        {"branch", "ORIGIN", "only what this origin recorded"},
        {"tz", "ZONE", "the zone of dates in --at"}},
       false, run_show},
      {"Ask", "events", "[SESSION]", "List or dump the raw events, byte for byte",
       {"respool events ses_22e1 --raw", "respool events --after c120 --type message.updated"},
       {{"after", "CURSOR", "only events recorded after this one"},
        {"follow", "", "go on with what is recorded from now on, until interrupted"},
        {"type", "T", "only this wire type"},
        {"source", "S", "only this source, such as run, event, global-event, export-part"},
        {"raw", "", "the delivered bytes alone, one event a line"},
        {"embed", "", "raw as a JSON value instead of a string, where it is one"},
        {"limit", "N", "at most this many"}},
       false, run_events},
      {"Ask", "usage", "", "Sum tokens and money by any key",
       {"respool usage", "respool usage --by day,model --since 2026-11-01 --tz Asia/Kathmandu", "respool usage --by session --json"},
       {{"by", "KEYS", "session, day, week, month, model, provider, agent, project, host, root, tool; commas combine"},
        {"session", "SESSION", "only this session"},
        {"prices", "FILE", "recompute the cost from these prices (models.dev form)"}},
       true, run_usage},
      {"Ask", "tools", "[SESSION]", "List tool calls and how they ended",
       {"respool tools ses_22e1", "respool tools --outcome withheld --json"},
       {{"tool", "NAME", "only this tool"},
        {"outcome", "O", "only completed, failed, withheld, refused, aborted, orphaned, running or unknown"}},
       true, run_tools},
      {"Ask", "files", "[SESSION]", "List the files that were read, written, edited or patched",
       {"respool files ses_22e1"}, {}, true, run_files},
      {"Ask", "permissions", "[SESSION]", "List permission requests and questions with their answers",
       {"respool permissions ses_22e1"}, {}, true, run_permissions},
      {"Ask", "lineage", "[SESSION]", "List which session came from which: children and forks",
       {"respool lineage"}, {}, true, run_lineage},
      {"Ask", "gaps", "[SESSION]", "List what is missing from the record, and what would fill it",
       {"respool gaps ses_22e1", "respool gaps --json"}, {}, true, run_gaps},
      {"Ask", "stats", "", "Count what the store holds", {"respool stats --json"}, {}, false, run_stats},
      {"Play back", "replay", "SESSION", "Render a session's context as text, ready to stand before a prompt",
       {"respool replay ses_22e1 --budget 8000", "respool replay @last --format json"},
       {{"at", "POINT", "a cursor of `events`, a message id or a time"},
        {"before", "MESSAGE", "up to this message, leaving it out"},
        {"branch", "ORIGIN", "only what this origin recorded"},
        {"budget", "TOKENS", "at most this many tokens, by estimate (default 32000)"},
        {"reasoning", "", "include the model's reasoning"},
        {"format", "prefix|json", "the text alone, or with what was kept and left out"},
        {"tz", "ZONE", "the zone of dates in --at"}},
       false, run_replay},
      {"Keep", "verify", "[SESSION]", "Check every byte: files, chains, numbers, facts against a fresh fold",
       {"respool verify", "respool verify --report > heads.ndjson", "respool verify --against heads.ndjson"},
       {{"report", "", "list the head of every stream"},
        {"against", "FILE", "heads listed earlier: every stream must still begin with them"}},
       false, run_verify},
      {"Keep", "rebuild", "", "Fold the log again into a new model", {"respool rebuild"}, {}, false, run_rebuild},
      {"Keep", "bench", "FILE", "Measure parse, append, fold and replay on your own data; never touches the store",
       {"respool bench run.ndjson"}, {{"seconds", "N", "how long each measurement runs (default 1)"}}, false, run_bench},
      {"Keep", "completions", "SHELL", "Print completions for bash, zsh or fish", {"respool completions bash"}, {}, false, run_completions},
      {"Keep", "man", "", "Print the manual page", {"respool man | man -l -"}, {}, false, run_man},
  };
  return commands;
}

}  // namespace respool
