#pragma once

namespace respool {

// Prints the broken promise and aborts. Never returns.
[[noreturn]] void assertion_failed(const char* condition, const char* file, int line);

}  // namespace respool

// A promise of our own code, checked in release builds too: stop before writing nonsense.
#define RESPOOL_ASSERT(condition) \
  ((condition) ? static_cast<void>(0) : ::respool::assertion_failed(#condition, __FILE__, __LINE__))
