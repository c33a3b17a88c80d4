#include <cstdio>
#include <system_error>

#include <sys/stat.h>

#include "ingest/process/guard.h"

#include "tools/command.h"
#include "tools/context.h"

int main(int argc, char** argv) {
  if (argc > 2 && argv[1] == respool::kGuardCommand) return respool::guard_main(argv + 2);
  // Sessions hold secrets: what we write is ours alone. What programs we start write is not.
  respool::remember_file_mask(::umask(0077));
  try {
    const int exit_code = respool::run_command_line(argc, argv);
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return exit_code;
  } catch (const std::system_error&) {
    // fmt reports a failed write to stdout this way.
  }
  std::fputs("respool: the output could not be written\n", stderr);
  return static_cast<int>(respool::ExitCode::Failed);
}
