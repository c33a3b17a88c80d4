#include <sys/stat.h>

#include "tools/command.h"

int main(int argc, char** argv) {
  ::umask(0077);  // sessions hold secrets: what we write is ours alone
  return respool::run_command_line(argc, argv);
}
