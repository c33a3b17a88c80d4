#include "tests/live/fixture.h"

#include <charconv>
#include <cstdlib>
#include <system_error>

#include <unistd.h>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "ingest/opencode/http_client.h"

#include "tests/live/facts.h"
#include "tests/support/temp_store.h"

namespace respool::test {
namespace {

using std::chrono::seconds;

// Sixteen programs at once on two processors take their time.
constexpr seconds kProgramLimit{240};
constexpr seconds kStartLimit{60};

std::string configuration(const std::string& permission) {
  return fmt::format(
      R"({{"model":"scripted/scripted-1","small_model":"scripted/scripted-1","autoupdate":false,)"
      R"("share":"disabled","permission":{},"provider":{{"scripted":{{)"
      R"("npm":"@ai-sdk/openai-compatible","name":"Scripted",)"
      R"("options":{{"baseURL":"{}","apiKey":"none"}},"models":{{"scripted-1":{{)"
      R"("name":"Scripted 1","tool_call":true,"reasoning":true,"attachment":true,)"
      R"("modalities":{{"input":["text","image"],"output":["text"]}},)"
      R"("limit":{{"context":100000,"output":8000}},)"
      R"("cost":{{"input":1,"output":2,"cache_read":0.1,"cache_write":0.2}}}}}}}}}}}})",
      permission,
      ScriptedModel::instance().url());
}

// OpenCode installs @opencode-ai/plugin into a configuration folder unless it looks installed.
void fill_configuration_folder(const fs::path& folder) {
  fs::create_directories(folder / "node_modules");
  write_file(folder / "package.json", "{}");
  write_file(
      folder / "package-lock.json",
      R"({"lockfileVersion":3,"packages":{"":{"dependencies":{"@opencode-ai/plugin":"*"}}}})");
}

// What a program says in its first lines once it is ready: the URL in it.
std::string announced_url(RunningProgram& process) {
  constexpr std::string_view kMark = "listening on ";
  std::string url;
  const bool ready = becomes_true(kStartLimit, [&] {
    const std::string out = process.out();
    const auto begin = out.find(kMark);
    const auto end = out.find('\n', begin);
    if (begin == std::string::npos || end == std::string::npos) return !process.running();
    url = out.substr(begin + kMark.size(), end - begin - kMark.size());
    return true;
  });
  INFO(process.out() << process.err());
  REQUIRE(ready);
  REQUIRE_FALSE(url.empty());
  return url;
}

}  // namespace

fs::path opencode_program(const std::string& version) {
  const char* given = std::getenv("RESPOOL_TEST_OPENCODE");
  const fs::path folder = given != nullptr ? given : RESPOOL_OPENCODE_DIR;
  const fs::path program = folder / version / "node_modules" / ".bin" / "opencode";
  if (::access(program.c_str(), X_OK) != 0) {
    FAIL("OpenCode " << version << " is not at " << program
                     << "; tools/test installs it: npm install --prefix " << folder.string() << "/"
                     << version << " opencode-ai@" << version);
  }
  return program;
}

ScriptedModel& ScriptedModel::instance() {
  static ScriptedModel model;
  return model;
}

ScriptedModel::ScriptedModel() {
  const fs::path sources = fs::path(RESPOOL_SOURCE_DIR) / "tests/support/scripted_model";
  const char* path = std::getenv("PATH");
  process_ = std::make_unique<RunningProgram>(
      Program{.path = "/usr/bin/env",
              .arguments = {"node",
                            (sources / "server.mjs").string(),
                            "--port",
                            "0",
                            "--scenario",
                            (sources / "scenario.json").string(),
                            "--log",
                            (dir_.path() / "requests.ndjson").string()},
              .environment = {{"PATH", path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin"}}});
  url_ = announced_url(*process_);
}

std::vector<std::string> ScriptedModel::requests() const {
  const fs::path log = dir_.path() / "requests.ndjson";
  return fs::exists(log) ? lines_of(read_file(log)) : std::vector<std::string>();
}

LiveHome::LiveHome(const std::string& version, const std::string& permission)
    : opencode_(opencode_program(version)) {
  const auto folder = [this](const char* name) { return (path() / name).string(); };
  fs::create_directories(work());
  fill_configuration_folder(path() / "config" / "opencode");
  environment_ = {
      {"HOME", path().string()},
      {"XDG_DATA_HOME", folder("data")},
      {"XDG_CONFIG_HOME", folder("config")},
      {"XDG_CACHE_HOME", folder("cache")},
      {"XDG_STATE_HOME", folder("state")},
      {"TMPDIR", folder("tmp")},
      {"PATH", opencode_.parent_path().string() + ":/usr/local/bin:/usr/bin:/bin"},
      {"TZ", "UTC"},
      {"LANG", "C.UTF-8"},
      {"RESPOOL_HOST", "here"},
      {"OPENCODE_DISABLE_MODELS_FETCH", "1"},
      {"OPENCODE_DISABLE_AUTOUPDATE", "1"},
      {"OPENCODE_DISABLE_LSP_DOWNLOAD", "1"},
      {"OPENCODE_CONFIG_CONTENT", configuration(permission)},
  };
  fs::create_directories(folder("tmp"));
}

Program LiveHome::program(const fs::path& path,
                          const std::vector<std::string>& arguments,
                          const std::string& input) const {
  return {.path = path,
          .arguments = arguments,
          .environment = environment_,
          .input = input,
          .directory = work()};
}

ProcessResult LiveHome::respool(const std::vector<std::string>& arguments,
                                const std::string& input) const {
  return RunningProgram(program(RESPOOL_BINARY, arguments, input)).wait(kProgramLimit);
}

std::vector<std::string> LiveHome::ask(const std::vector<std::string>& arguments) const {
  const auto answer = respool(arguments);
  INFO(fmt::format("respool {}: {}", fmt::join(arguments, " "), answer.err));
  REQUIRE(answer.exit_code == 0);
  return lines_of(answer.out);
}

std::vector<std::string> LiveHome::ask_second(std::vector<std::string> arguments) const {
  arguments.insert(arguments.end(), {"--store", second_store().string()});
  return ask(arguments);
}

std::unique_ptr<RunningProgram> LiveHome::start_respool(const std::vector<std::string>& arguments,
                                                        const std::string& input,
                                                        Program::Output output) const {
  Program started = program(RESPOOL_BINARY, arguments, input);
  started.output = output;
  return std::make_unique<RunningProgram>(started);
}

ProcessResult LiveHome::opencode(const std::vector<std::string>& arguments,
                                 const std::string& input) const {
  return RunningProgram(program(opencode_, arguments, input)).wait(kProgramLimit);
}

ProcessResult LiveHome::opencode_in(const fs::path& directory,
                                    const std::vector<std::string>& arguments,
                                    const std::string& input) const {
  Program started = program(opencode_, arguments, input);
  started.directory = directory;
  return RunningProgram(started).wait(kProgramLimit);
}

std::unique_ptr<RunningProgram> LiveHome::start_opencode(const std::vector<std::string>& arguments,
                                                         const std::string& input) const {
  return std::make_unique<RunningProgram>(program(opencode_, arguments, input));
}

std::string LiveHome::export_of(const std::string& session) const {
  const auto exported = opencode({"export", session});
  INFO("opencode export " << session << ": " << exported.err);
  REQUIRE(exported.exit_code == 0);
  return exported.out;
}

void LiveHome::ingest_export(const std::string& session) const {
  const auto taken =
      respool({"ingest", "-", "--store", second_store().string()}, export_of(session));
  INFO(taken.err);
  REQUIRE(taken.exit_code == 0);
}

OpenCodeServer::OpenCodeServer(const LiveHome& home)
    : home_(&home),
      process_(
          home.program(home.opencode_, {"serve", "--hostname", "127.0.0.1", "--port", "0"}, "")),
      url_(announced_url(process_)) {}

std::uint16_t OpenCodeServer::port() const {
  std::uint16_t port = 0;
  const auto begin = url_.rfind(':') + 1;
  std::from_chars(url_.data() + begin, url_.data() + url_.size(), port);
  return port;
}

std::string OpenCodeServer::post(const std::string& target, const std::string& body) const {
  const OpenCodeClient client(value(parse_server_url(url_)), std::nullopt, kProgramLimit);
  return value(client.post(target, body));
}

std::string OpenCodeServer::run(const std::string& prompt) const {
  const std::string session = field(post("/session", "{}"), "id");
  post(fmt::format("/session/{}/message", session),
       fmt::format(R"({{"parts":[{{"type":"text","text":"{}"}}]}})", prompt));
  return session;
}

std::string OpenCodeServer::run_attached(const std::string& prompt) const {
  const std::string session = field(post("/session", "{}"), "id");
  const auto turn = home_->opencode({"run", "--attach", url_, "--session", session}, prompt);
  INFO(turn.out << turn.err);
  REQUIRE(turn.exit_code == 0);
  return session;
}

RunReport run_prompt(const LiveHome& home,
                     const std::string& prompt,
                     const std::vector<std::string>& flags) {
  const TempDir dir;
  const std::string file = (dir.path() / "result").string();
  std::vector<std::string> words = {"run", "--result", file};
  words.insert(words.end(), flags.begin(), flags.end());
  RunReport report;
  report.process = home.respool(words, prompt);
  INFO(report.process.err);
  REQUIRE(fs::exists(file));
  report.result = read_file(file);
  report.session = field(report.result, "session");
  report.outcome = field(report.result, "outcome");
  return report;
}

}  // namespace respool::test
