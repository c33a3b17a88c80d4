#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "schema/error.h"

#include "ingest/opencode/server_address.h"

namespace respool {

// Asks a running `opencode serve`: whole JSON answers, and its streams of events.
//
// Threads:   any member from any thread; each call has a connection of its own and blocks. Where
//            the host is a name, its look-up cannot be interrupted.
// Ownership: owns copies of its arguments; borrows nothing past a call.
// Errors:    Io where the server cannot be reached, is silent for `timeout` or breaks off.
//            InvalidArgument where it wants a password or refuses the request. NotFound for 404.
//            UnsupportedFormat where it does not know the target.
// Units:     `timeout` is the longest wait for one step: the connection, the head of the answer,
//            the next bytes. A long answer that keeps coming may take longer.
class OpenCodeClient {
 public:
  // The longest answer get() and post() accept.
  static constexpr std::uint64_t kMaxAnswerBytes = 4ULL << 30;

  enum class StreamEnd { ServerEnded, Broken, Idle, Stopped };

  OpenCodeClient(ServerAddress address,
                 std::optional<Credentials> credentials,
                 std::chrono::milliseconds timeout)
      : address_(std::move(address)), credentials_(std::move(credentials)), timeout_(timeout) {}

  // The body of a JSON answer. A target begins with a slash and is percent-encoded.
  Result<std::string> get(const std::string& target) const;
  Result<std::string> post(const std::string& target, const std::string& json_body) const;

  // Reads a stream of events: `on_open` once, after the server accepted, then `on_bytes` for bytes
  // of the body as they come. Ends when the server ends the stream, the connection breaks, `idle`
  // passes without a byte, `stop` is true, or a callback returns an error, which is returned. An
  // error before `on_open` means that no stream was open. `stop` and `on_open` may be null.
  Result<StreamEnd> stream(const std::string& target,
                           std::chrono::milliseconds idle,
                           const std::atomic<bool>* stop,
                           const std::function<Result<void>(std::string_view)>& on_bytes,
                           const std::function<Result<void>()>& on_open) const;

  const ServerAddress& address() const { return address_; }

 private:
  ServerAddress address_;
  std::optional<Credentials> credentials_;
  std::chrono::milliseconds timeout_;
};

}  // namespace respool
