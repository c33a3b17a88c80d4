#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "tools/command.h"

namespace respool {
namespace {

std::string flag_usage(const FlagSpec& flag) {
  const std::string letter = flag.letter == 0 ? "" : fmt::format("-{}, ", flag.letter);
  return flag.value.empty() ? fmt::format("{}--{}", letter, flag.name)
                            : fmt::format("{}--{} {}", letter, flag.name, flag.value);
}

void append_flags(std::string& text, const std::vector<FlagSpec>& flags) {
  for (const auto& flag : flags)
    text += fmt::format("  {:<28} {}\n", flag_usage(flag), flag.help);
}

// A command's own flags, then those it shares, each once.
std::vector<FlagSpec> flags_of(const CommandSpec& command) {
  std::vector<FlagSpec> flags = command.flags;
  std::set<std::string_view> seen;
  for (const auto& flag : flags)
    seen.insert(flag.name);
  const auto add = [&](const std::vector<FlagSpec>& more) {
    for (const auto& flag : more) {
      if (seen.insert(flag.name).second) flags.push_back(flag);
    }
  };
  if (command.filters) add(filter_flags());
  add(global_flags());
  return flags;
}

constexpr std::string_view kIntroduction =
    "respool records everything an OpenCode agent does, keeps it verbatim, answers questions about "
    "it,\n"
    "and plays it back into a fresh session.\n";

std::string roff(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '-' || c == '\\') escaped.push_back('\\');
    escaped.push_back(c);
  }
  return escaped;
}

std::string joined_names() {
  std::string names;
  for (const auto& command : all_commands())
    names += fmt::format("{}{}", names.empty() ? "" : " ", command.name);
  return names;
}

std::string joined_flags(const CommandSpec& command) {
  std::string names;
  for (const auto& flag : flags_of(command))
    names += fmt::format("{}--{}", names.empty() ? "" : " ", flag.name);
  return names;
}

std::string bash_completions() {
  std::string script =
      "_respool() {\n  local word=${COMP_WORDS[COMP_CWORD]} flags\n  case ${COMP_WORDS[1]} in\n";
  for (const auto& command : all_commands())
    script += fmt::format("    {}) flags='{}' ;;\n", command.name, joined_flags(command));
  script += fmt::format(
      "  esac\n  if ((COMP_CWORD == 1)); then COMPREPLY=($(compgen -W '{}' -- \"$word\"))\n"
      "  elif [[ $word == -* ]]; then COMPREPLY=($(compgen -W \"$flags\" -- \"$word\"))\n  fi\n}}\n"
      "complete -o default -F _respool respool\n",
      joined_names());
  return script;
}

std::string zsh_completions() {
  std::string script =
      "#compdef respool\n_respool() {\n  if ((CURRENT == 2)); then\n    local -a commands=(\n";
  for (const auto& command : all_commands())
    script += fmt::format("      '{}:{}'\n", command.name, command.summary);
  script += "    )\n    _describe command commands\n    return\n  fi\n  case $words[2] in\n";
  for (const auto& command : all_commands()) {
    script +=
        fmt::format("    {}) compadd -- {} ; _files ;;\n", command.name, joined_flags(command));
  }
  return script + "  esac\n}\n_respool \"$@\"\n";
}

std::string fish_completions() {
  std::string script;
  for (const auto& command : all_commands()) {
    script += fmt::format("complete -c respool -n __fish_use_subcommand -a {} -d '{}'\n",
                          command.name,
                          command.summary);
    for (const auto& flag : flags_of(command)) {
      script += fmt::format("complete -c respool -n '__fish_seen_subcommand_from {}' -l {}{}\n",
                            command.name,
                            flag.name,
                            flag.value.empty() ? "" : " -r");
    }
  }
  return script;
}

}  // namespace

std::string command_help(const CommandSpec& command) {
  std::string text = fmt::format("{}.\n\nExamples:\n", command.summary);
  for (const auto example : command.examples)
    text += fmt::format("  {}\n", example);
  text += fmt::format("\nUsage: respool {}{}{} [flags]\n\nFlags:\n",
                      command.name,
                      command.positional.empty() ? "" : " ",
                      command.positional);
  append_flags(text, flags_of(command));
  if (command.positional.find("SESSION") != std::string_view::npos) {
    text +=
        "\nSESSION: an id, an unambiguous prefix of one, @last (the newest of this directory), "
        "@last:any\n";
  }
  return text;
}

std::string overview_help() {
  std::string text(kIntroduction);
  text +=
      "\nFirst steps:\n"
      "  opencode export ses_... | respool ingest -\n"
      "  respool sessions\n"
      "  respool replay @last:any --budget 8000\n";
  std::string_view group;
  for (const auto& command : all_commands()) {
    if (command.group != group) text += fmt::format("\n{}:\n", group = command.group);
    text += fmt::format("  {:<12} {}\n", command.name, command.summary);
  }
  text += "\nFlags of every command:\n";
  append_flags(text, global_flags());
  text += "\nrespool COMMAND --help tells more.\n";
  return text;
}

std::string man_page() {
  std::string page =
      ".TH RESPOOL 1\n.SH NAME\nrespool \\- session store and replay engine for OpenCode\n.SH "
      "SYNOPSIS\n"
      ".B respool\nCOMMAND [flags]\n.SH DESCRIPTION\n";
  page += roff(kIntroduction);
  page += ".SH COMMANDS\n";
  for (const auto& command : all_commands()) {
    page += fmt::format(
        ".SS {} {}\n{}.\n.PP\n", command.name, roff(command.positional), roff(command.summary));
    for (const auto example : command.examples)
      page += fmt::format(".EX\n{}\n.EE\n", roff(example));
    for (const auto& flag : command.flags) {
      page += fmt::format(".TP\n.B {}\n{}\n", roff(flag_usage(flag)), roff(flag.help));
    }
  }
  page += ".SH FLAGS OF EVERY COMMAND\n";
  for (const auto& flag : global_flags())
    page += fmt::format(".TP\n.B {}\n{}\n", roff(flag_usage(flag)), roff(flag.help));
  page += ".SH FLAGS OF ASK COMMANDS\n";
  for (const auto& flag : filter_flags())
    page += fmt::format(".TP\n.B {}\n{}\n", roff(flag_usage(flag)), roff(flag.help));
  page +=
      ".SH EXIT STATUS\n0 done; 1 done, and the answer is no; 2 wrong usage; 3 failed; 4 the store "
      "needs a newer build; 130 interrupted\n";
  return page;
}

std::optional<std::string> completions(std::string_view shell) {
  if (shell == "bash") return bash_completions();
  if (shell == "zsh") return zsh_completions();
  if (shell == "fish") return fish_completions();
  return std::nullopt;
}

}  // namespace respool
