#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/live/program.h"

namespace respool::test {

// The OpenCode versions the live tests know, and the one they use unless they say another.
inline constexpr const char* kOldestOpenCode = "1.17.11";
inline constexpr const char* kMiddleOpenCode = "1.18.29";
inline constexpr const char* kNewestOpenCode = "1.18.33";

// The CLI of one version, from $RESPOOL_TEST_OPENCODE, else from build/opencode, where tools/test
// installs it. Fails the test where it is missing.
fs::path opencode_program(const std::string& version);

// tests/support/scripted_model, one server a test process, started by its first user.
class ScriptedModel {
 public:
  static ScriptedModel& instance();

  const std::string& url() const { return url_; }
  // The lines of its log so far: one a request.
  std::vector<std::string> requests() const;

 private:
  ScriptedModel();

  TempDir dir_;
  std::unique_ptr<RunningProgram> process_;
  std::string url_;
};

// A user's home with OpenCode configured for the scripted model, a work folder and a store.
// Everything in it goes with the object; what the test starts there must end before.
class LiveHome {
 public:
  // `permission` is the configuration's, as JSON.
  explicit LiveHome(const std::string& version = kNewestOpenCode,
                    const std::string& permission = "{}");

  const fs::path& path() const { return dir_.path(); }
  fs::path work() const { return path() / "work"; }
  fs::path opencode_data() const { return path() / "data" / "opencode"; }
  fs::path spool() const { return path() / "data" / "respool" / "spool"; }
  fs::path store() const { return path() / "data" / "respool"; }
  fs::path second_store() const { return path() / "second"; }
  // What every program here is started with; a test may add to it.
  std::map<std::string, std::string>& environment() { return environment_; }

  ProcessResult respool(const std::vector<std::string>& arguments,
                        const std::string& input = {}) const;
  // The lines a command prints; the test fails where it fails.
  std::vector<std::string> ask(const std::vector<std::string>& arguments) const;
  // The same about the second store.
  std::vector<std::string> ask_second(std::vector<std::string> arguments) const;
  std::unique_ptr<RunningProgram> start_respool(
      const std::vector<std::string>& arguments,
      const std::string& input = {},
      Program::Output output = Program::Output::File) const;

  ProcessResult opencode(const std::vector<std::string>& arguments,
                         const std::string& input = {}) const;
  // The same in another directory than work().
  ProcessResult opencode_in(const fs::path& directory,
                            const std::vector<std::string>& arguments,
                            const std::string& input = {}) const;
  std::unique_ptr<RunningProgram> start_opencode(const std::vector<std::string>& arguments,
                                                 const std::string& input) const;
  // What `opencode export` says of a session.
  std::string export_of(const std::string& session) const;
  // Takes the export into the second store.
  void ingest_export(const std::string& session) const;

 private:
  friend class OpenCodeServer;
  Program program(const fs::path& path,
                  const std::vector<std::string>& arguments,
                  const std::string& input) const;

  TempDir dir_;
  fs::path opencode_;
  std::map<std::string, std::string> environment_;
};

// `opencode serve` in a home, ready to be asked. Ends with the object.
class OpenCodeServer {
 public:
  explicit OpenCodeServer(const LiveHome& home);

  const std::string& url() const { return url_; }
  std::uint16_t port() const;
  RunningProgram& process() { return process_; }
  // A turn in a new session, asked for over HTTP; returns the session when the turn has ended.
  std::string run(const std::string& prompt) const;
  // The same by `opencode run --attach`, which refuses what nobody is there to permit. It may end
  // before the turn does.
  std::string run_attached(const std::string& prompt) const;
  // What the server answers to a request of its API.
  std::string post(const std::string& target, const std::string& body) const;

 private:
  const LiveHome* home_;
  RunningProgram process_;
  std::string url_;
};

// How one `respool run` ended.
struct RunReport {
  ProcessResult process;
  std::string session;
  std::string outcome;
  std::string result;  // the line in the result file
};

RunReport run_prompt(const LiveHome& home,
                     const std::string& prompt,
                     const std::vector<std::string>& flags = {});

}  // namespace respool::test
