#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <boost/outcome/basic_result.hpp>
#include <boost/outcome/try.hpp>

namespace respool {

// Why an operation failed, in terms a caller can act on. Scripts see the names: only ever add.
enum class ErrorCode : std::uint8_t {
  NotFound = 1,           // no such session, event or file
  Corruption = 2,         // stored bytes failed a check: never retry
  UnsupportedFormat = 3,  // written by a newer build: upgrade
  StoreBusy = 4,          // another process writes: wait, or try again
  Io = 5,                 // the disk or the operating system said no
  InvalidArgument = 6,    // the caller's input cannot mean anything
  Ambiguous = 7,          // a prefix names more than one thing
  Interrupted = 8,        // stopped by a signal, what was committed stays
};

// The name scripts see, such as "corruption".
std::string_view error_code_name(ErrorCode code);

// What went wrong, where, and what to do next. Never quotes session content.
class [[nodiscard]] Error {
 public:
  Error(ErrorCode code, std::string message, std::string next = {})
      : code_(code), message_(std::move(message)), next_(std::move(next)) {}

  ErrorCode code() const { return code_; }
  const std::string& message() const { return message_; }
  // What the user can do about it, as a command or a sentence. Empty where nothing helps.
  const std::string& next() const { return next_; }

 private:
  ErrorCode code_;
  std::string message_;
  std::string next_;
};

// Prints the error and aborts: somebody read the value of a failed Result.
[[noreturn]] void abort_on_misuse(const Error* error);

// Outcome's policy for reading the wrong half of a Result.
struct AbortOnMisuse : BOOST_OUTCOME_V2_NAMESPACE::policy::base {
  template <class Impl>
  static constexpr void wide_value_check(Impl&& self) {
    if (!base::_has_value(std::forward<Impl>(self))) {
      abort_on_misuse(base::_has_error(self) ? &base::_error(self) : nullptr);
    }
  }
  template <class Impl>
  static constexpr void wide_error_check(Impl&& self) {
    if (!base::_has_error(std::forward<Impl>(self))) abort_on_misuse(nullptr);
  }
  template <class Impl>
  static constexpr void wide_exception_check(Impl&&) {}
};

template <class T = void>
using Result = BOOST_OUTCOME_V2_NAMESPACE::basic_result<T, Error, AbortOnMisuse>;

inline BOOST_OUTCOME_V2_NAMESPACE::success_type<void> ok() {
  return BOOST_OUTCOME_V2_NAMESPACE::success();
}

}  // namespace respool

// Evaluates a Result; on failure returns its Error from the enclosing function.
#define RESPOOL_TRY(...) BOOST_OUTCOME_TRY(__VA_ARGS__)
