// The same with the result looked at: compiles, so that the other fails for the right reason.
#include "schema/error.h"

respool::Result<int> work() {
  return 1;
}

int main() {
  return work() ? 0 : 1;
}
