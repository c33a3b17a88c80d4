#include <algorithm>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "tools/context.h"

namespace respool {
namespace {

const std::vector<std::string> kNoValues;

// Everything one invocation may carry, bound to CLI11's callbacks.
struct Parsed {
  Arguments arguments;
  const CommandSpec* command = nullptr;
};

void add_flag(CLI::App& app, const FlagSpec& flag, Arguments& arguments) {
  std::string name = fmt::format("--{}", flag.name);
  if (app.get_option_no_throw(name) != nullptr) return;
  if (flag.letter != 0) name = fmt::format("-{},{}", flag.letter, name);
  if (flag.value.empty()) {
    app.add_flag_callback(name, [&arguments, flag] { arguments.set(flag.name, {}); });
  } else if (flag.many) {
    app.add_option_function<std::vector<std::string>>(
           name,
           [&arguments, flag](const std::vector<std::string>& values) {
             arguments.set(flag.name, values);
           })
        ->expected(1)
        ->allow_extra_args(false)
        ->take_all();
  } else {
    app.add_option_function<std::string>(
        name, [&arguments, flag](const std::string& value) { arguments.set(flag.name, {value}); });
  }
}

void add_positional(CLI::App& app, const CommandSpec& command, Arguments& arguments) {
  std::string name(command.positional);
  if (name.empty()) return;
  const bool optional = name.starts_with('[');
  const bool many = name.find("...") != std::string::npos;
  std::erase_if(name, [](char c) { return c == '[' || c == ']' || c == '.'; });
  auto* option = app.add_option_function<std::vector<std::string>>(
      name,
      [&arguments, name](const std::vector<std::string>& values) { arguments.set(name, values); });
  option->required(!optional);
  if (!many) option->expected(1);
}

void add_command(CLI::App& root, const CommandSpec& command, Parsed& parsed) {
  CLI::App* app = root.add_subcommand(std::string(command.name));
  app->set_help_flag();
  app->callback([&parsed, &command] { parsed.command = &command; });
  add_positional(*app, command, parsed.arguments);
  for (const auto& flag : command.flags)
    add_flag(*app, flag, parsed.arguments);
  if (command.filters) {
    for (const auto& flag : filter_flags())
      add_flag(*app, flag, parsed.arguments);
  }
  for (const auto& flag : global_flags())
    add_flag(*app, flag, parsed.arguments);
}

// The first word that is neither a flag nor the value of one: the command.
std::string first_command_word(const std::vector<std::string>& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!words[i].starts_with("-")) return words[i];
    const auto& flags = global_flags();
    const bool takes_value = std::any_of(flags.begin(), flags.end(), [&](const FlagSpec& flag) {
      return !flag.value.empty() && words[i] == fmt::format("--{}", flag.name);
    });
    if (takes_value) ++i;
  }
  return {};
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j)
    row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitute = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, substitute}));
    }
  }
  return row[b.size()];
}

const CommandSpec* find_command(std::string_view name) {
  const auto& commands = all_commands();
  const auto found =
      std::find_if(commands.begin(), commands.end(), [&](const auto& c) { return c.name == name; });
  return found == commands.end() ? nullptr : &*found;
}

Error unknown_command(const std::string& name) {
  const auto& commands = all_commands();
  const auto nearest =
      std::min_element(commands.begin(), commands.end(), [&](const auto& a, const auto& b) {
        return edit_distance(a.name, name) < edit_distance(b.name, name);
      });
  constexpr std::size_t kNear = 3;
  const bool near = edit_distance(nearest->name, name) < kNear;
  return Error(ErrorCode::InvalidArgument,
               fmt::format("there is no command \"{}\"", name),
               near ? fmt::format("did you mean \"{}\"?", nearest->name) : "respool --help");
}

int fail(const Arguments& arguments, const Error& error) {
  Context(arguments).print_error(error);
  return static_cast<int>(exit_code_for(error));
}

// Help and version are answered before anything is checked.
std::optional<int> answer_at_once(const std::vector<std::string>& words) {
  const auto has = [&](std::string_view word) {
    return std::find(words.begin(), words.end(), word) != words.end();
  };
  const std::string name = first_command_word(words);
  if (words.empty() || name == "help" || (name.empty() && (has("--help") || has("-h")))) {
    fmt::print("{}", overview_help());
    return static_cast<int>(words.empty() ? ExitCode::Usage : ExitCode::Done);
  }
  if (has("--version")) {
    fmt::print("respool {}\n", RESPOOL_VERSION);
    return 0;
  }
  if (!has("--help") && !has("-h")) return std::nullopt;
  const CommandSpec* command = find_command(name);
  if (command == nullptr) return std::nullopt;
  fmt::print("{}", command_help(*command));
  return 0;
}

// The words before "--", where those after it are for another program.
std::vector<std::string> own_words(const std::vector<std::string>& words, Arguments& arguments) {
  const CommandSpec* command = find_command(first_command_word(words));
  const auto split = std::find(words.begin(), words.end(), "--");
  if (command == nullptr || !command->passes_on || split == words.end()) return words;
  arguments.set(kPassedOn, {split + 1, words.end()});
  return {words.begin(), split};
}

int run(const Parsed& parsed) {
  if (const auto wait = number_flag(parsed.arguments, "wait", 0); !wait)
    return fail(parsed.arguments, wait.error());
  if (const auto color =
          check_choice("color", parsed.arguments.value("color"), "auto always never");
      !color) {
    return fail(parsed.arguments, color.error());
  }
  Context context(parsed.arguments);
  const auto result = parsed.command->run(parsed.arguments, context);
  if (result) return static_cast<int>(result.value());
  context.print_error(result.error());
  return static_cast<int>(exit_code_for(result.error()));
}

}  // namespace

std::string Arguments::value(std::string_view name, std::string_view otherwise) const {
  const auto found = values_.find(std::string(name));
  return found == values_.end() || found->second.empty() ? std::string(otherwise)
                                                         : found->second.front();
}

const std::vector<std::string>& Arguments::values(std::string_view name) const {
  const auto found = values_.find(std::string(name));
  return found == values_.end() ? kNoValues : found->second;
}

int run_command_line(int argc, char** argv) {
  const std::vector<std::string> all_words(argv + 1, argv + argc);
  if (const auto answered =
          answer_at_once({all_words.begin(), std::find(all_words.begin(), all_words.end(), "--")}))
    return *answered;

  Parsed parsed;
  const std::vector<std::string> words = own_words(all_words, parsed.arguments);
  CLI::App app;
  app.set_help_flag();
  app.require_subcommand(1);
  for (const auto& flag : global_flags())
    add_flag(app, flag, parsed.arguments);
  for (const auto& command : all_commands())
    add_command(app, command, parsed);
  try {
    std::vector<std::string> reversed(words.rbegin(), words.rend());
    app.parse(reversed);
  } catch (const CLI::ParseError& error) {
    if (std::find(words.begin(), words.end(), "--json") != words.end())
      parsed.arguments.set("json", {});
    const std::string name = first_command_word(words);
    if (!name.empty() && find_command(name) == nullptr)
      return fail(parsed.arguments, unknown_command(name));
    return fail(parsed.arguments,
                Error(ErrorCode::InvalidArgument,
                      error.what(),
                      name.empty() ? "respool --help" : fmt::format("respool {} --help", name)));
  }
  return run(parsed);
}

}  // namespace respool
