#include <cstdio>
#include <system_error>

#include <sys/stat.h>

#include "tools/command.h"

int main(int argc, char** argv) {
  ::umask(0077);  // sessions hold secrets: what we write is ours alone
  try {
    const int exit_code = respool::run_command_line(argc, argv);
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return exit_code;
  } catch (const std::system_error&) {
    // fmt reports a failed write to stdout this way.
  }
  std::fputs("respool: the output could not be written\n", stderr);
  return static_cast<int>(respool::ExitCode::Failed);
}
