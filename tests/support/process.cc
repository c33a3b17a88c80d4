#include "tests/support/process.h"

#include <csignal>
#include <cstdlib>
#include <stdexcept>

#include <fcntl.h>
#include <unistd.h>

#include <sys/wait.h>

#include "tests/support/files.h"

namespace respool::test {
namespace {

[[noreturn]] void become_program(const std::string& program,
                                 const std::vector<std::string>& arguments,
                                 const std::map<std::string, std::string>& environment,
                                 const fs::path& dir,
                                 const std::string& directory) {
  const int in = ::open((dir / "in").c_str(), O_RDONLY);
  const int out = ::open((dir / "out").c_str(), O_WRONLY | O_CREAT, 0600);
  const int err = ::open((dir / "err").c_str(), O_WRONLY | O_CREAT, 0600);
  ::dup2(in, STDIN_FILENO);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(err, STDERR_FILENO);
  if (!directory.empty() && ::chdir(directory.c_str()) != 0) ::_exit(126);
  ExecWords(program, arguments, environment).become();
}

}  // namespace

ExecWords::ExecWords(const std::string& program,
                     const std::vector<std::string>& arguments,
                     const std::map<std::string, std::string>& environment)
    : words_{program} {
  words_.insert(words_.end(), arguments.begin(), arguments.end());
  for (const auto& [name, text] : environment)
    variables_.push_back(name + "=" + text);
  for (auto& word : words_)
    argv_.push_back(word.data());
  argv_.push_back(nullptr);
  for (auto& variable : variables_)
    envp_.push_back(variable.data());
  envp_.push_back(nullptr);
}

void ExecWords::become() const {
  ::execve(argv_.front(), argv_.data(), envp_.data());
  ::_exit(127);
}

ProcessResult run_respool(const std::vector<std::string>& arguments,
                          const std::map<std::string, std::string>& environment,
                          const std::string& input,
                          const std::string& directory) {
  const char* other = std::getenv("RESPOOL_UNDER_TEST");
  return run_program(
      other != nullptr ? other : RESPOOL_BINARY, arguments, environment, input, directory);
}

ProcessResult run_program(const std::string& program,
                          const std::vector<std::string>& arguments,
                          const std::map<std::string, std::string>& environment,
                          const std::string& input,
                          const std::string& directory) {
  const TempDir dir;
  write_file(dir.path() / "in", input);
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("fork");
  if (child == 0) become_program(program, arguments, environment, dir.path(), directory);
  int status = 0;
  if (::waitpid(child, &status, 0) != child) throw std::runtime_error("waitpid");
  ProcessResult result;
  result.out = read_file(dir.path() / "out");
  result.err = read_file(dir.path() / "err");
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  return result;
}

void run_respool_and_kill(const std::vector<std::string>& arguments, unsigned after_microseconds) {
  const TempDir dir;
  write_file(dir.path() / "in", "");
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("fork");
  if (child == 0)
    become_program(RESPOOL_BINARY, arguments, {{"HOME", dir.path().string()}}, dir.path(), "");
  ::usleep(after_microseconds);
  ::kill(child, SIGKILL);
  int status = 0;
  if (::waitpid(child, &status, 0) != child) throw std::runtime_error("waitpid");
}

}  // namespace respool::test
