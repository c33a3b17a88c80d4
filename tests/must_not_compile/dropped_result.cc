// A result that nobody looks at must not compile.
#include "schema/error.h"

respool::Result<int> work() {
  return 1;
}

int main() {
  work();
}
