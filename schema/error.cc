#include "schema/error.h"

#include <cstdio>
#include <cstdlib>

#include "schema/assert.h"

namespace respool {

std::string_view error_code_name(ErrorCode code) {
  switch (code) {
    case ErrorCode::NotFound:
      return "not_found";
    case ErrorCode::Corruption:
      return "corruption";
    case ErrorCode::UnsupportedFormat:
      return "unsupported_format";
    case ErrorCode::StoreBusy:
      return "store_busy";
    case ErrorCode::Io:
      return "io";
    case ErrorCode::InvalidArgument:
      return "invalid_argument";
    case ErrorCode::Ambiguous:
      return "ambiguous";
    case ErrorCode::Interrupted:
      return "interrupted";
  }
  return "unknown";
}

void abort_on_misuse(const Error* error) {
  std::fprintf(stderr,
               "respool: internal error: the value of a failed result was read: %s\n",
               error != nullptr ? error->message().c_str() : "(no error either)");
  std::abort();
}

void assertion_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "respool: internal error: %s:%d: %s\n", file, line, condition);
  std::abort();
}

}  // namespace respool
