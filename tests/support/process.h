#pragma once

#include <map>
#include <string>
#include <vector>

namespace respool::test {

// What a process printed and how it ended.
struct ProcessResult {
  std::string out;
  std::string err;
  int exit_code = -1;  // -1 where a signal ended it
  int signal = 0;
};

// The words and variables of a program, as execve() takes them.
class ExecWords {
 public:
  ExecWords(const std::string& program,
            const std::vector<std::string>& arguments,
            const std::map<std::string, std::string>& environment);
  ExecWords(const ExecWords&) = delete;
  ExecWords& operator=(const ExecWords&) = delete;
  // Becomes the program; leaves the process with 127 where that fails.
  [[noreturn]] void become() const;

 private:
  std::vector<std::string> words_;
  std::vector<std::string> variables_;
  std::vector<char*> argv_;
  std::vector<char*> envp_;
};

// Runs the respool binary, or the one that RESPOOL_UNDER_TEST names, with `arguments`, `input` on
// its stdin, and only these variables.
ProcessResult run_respool(const std::vector<std::string>& arguments,
                          const std::map<std::string, std::string>& environment = {},
                          const std::string& input = {},
                          const std::string& directory = {});

// The same for any program, named by its path.
ProcessResult run_program(const std::string& program,
                          const std::vector<std::string>& arguments,
                          const std::map<std::string, std::string>& environment = {},
                          const std::string& input = {},
                          const std::string& directory = {});

// Starts respool the same way and kills it after so many microseconds.
void run_respool_and_kill(const std::vector<std::string>& arguments, unsigned after_microseconds);

}  // namespace respool::test
