#include "tests/support/fake_opencode.h"

#include <sstream>

#include <fmt/format.h>
#include <simdjson.h>

namespace respool::test {
namespace {

std::vector<std::string> split_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);)
    lines.push_back(line);
  return lines;
}

}  // namespace

FakeOpenCode::FakeOpenCode(std::string_view version) : version_(version) {
  for (const auto& folder : {lab(), work(), program().parent_path()})
    fs::create_directories(folder);
  does("exit 0");
}

FakeOpenCode& FakeOpenCode::does(std::string_view script) {
  const std::string text = fmt::format(R"(#!/bin/sh
if [ "$1" = --version ]; then echo {0}; exit 0; fi
LAB='{1}'
tr '\0' '\n' < /proc/$$/environ > "$LAB/environ"
tr '\0' '\n' < /proc/$$/cmdline | tail -n +3 > "$LAB/argv"
umask > "$LAB/umask"
readlink /proc/$$/cwd > "$LAB/cwd"
cat > "$LAB/stdin"
{2}
)",
                                       version_,
                                       lab().string(),
                                       script);
  // Made anew: the version of a program is asked for again when the file has changed.
  fs::remove(program());
  write_file(program(), text);
  fs::permissions(program(), fs::perms::owner_all);
  return *this;
}

FakeOpenCode& FakeOpenCode::prints(std::string_view out, std::string_view script) {
  write_file(lab() / "out", out);
  return does(fmt::format("cat \"$LAB/out\"\n{}", script));
}

std::map<std::string, std::string> FakeOpenCode::environment(
    const std::map<std::string, std::string>& more) const {
  std::map<std::string, std::string> variables = {
      {"HOME", home().string()},
      {"TZ", "UTC"},
      {"RESPOOL_HOST", "here"},
      {"PATH", program().parent_path().string() + ":/usr/bin:/bin"}};
  for (const auto& [name, text] : more)
    variables[name] = text;
  return variables;
}

ProcessResult FakeOpenCode::respool(const std::vector<std::string>& arguments,
                                    const std::string& input,
                                    const std::map<std::string, std::string>& more) const {
  return run_respool(arguments, environment(more), input, work().string());
}

ProcessResult FakeOpenCode::run(std::vector<std::string> arguments,
                                const std::string& input,
                                const std::map<std::string, std::string>& more) const {
  fs::remove(lab() / "result");
  arguments.insert(arguments.begin(), {"run", "--result", (lab() / "result").string()});
  return respool(arguments, input, more);
}

std::string FakeOpenCode::result(std::string_view field) const {
  return fs::exists(lab() / "result") ? json_field(read_file(lab() / "result"), field)
                                      : "there is no result";
}

std::vector<std::string> FakeOpenCode::seen_lines(const std::string& what) const {
  return split_lines(seen(what));
}

std::string FakeOpenCode::seen_variable(const std::string& name) const {
  for (const auto& line : seen_lines("environ")) {
    if (line.starts_with(name + "=")) return line.substr(name.size() + 1);
  }
  return {};
}

std::string json_field(const std::string& object, std::string_view field) {
  simdjson::dom::parser parser;
  simdjson::dom::element value;
  if (parser.parse(object).at_key(field).get(value)) return {};
  std::string_view text;
  if (value.get(text)) return simdjson::minify(value);
  return std::string(text);
}

std::vector<std::string> events_of(const std::string& raw_events, std::string_view type) {
  std::vector<std::string> found;
  for (const auto& line : split_lines(raw_events)) {
    if (json_field(line, "type") == type) found.push_back(line);
  }
  return found;
}

}  // namespace respool::test
