#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace respool::test {

// What a server says on one connection, once it has read the request.
struct ScriptedAnswer {
  enum class End {
    Close,  // in an orderly way
    Reset,  // as where a machine goes down
    Hold,   // says nothing more until the client leaves or the server is destroyed
  };

  // Sent one after the other. Before each one but the first the server waits for proceed().
  std::vector<std::string> pieces;
  End end = End::Close;
};

// A server on 127.0.0.1 that follows a script: one answer a connection, in order; it leaves further
// connections without one.
//
// Threads: one of its own; members from the test's thread and from callbacks.
class TinyServer {
 public:
  explicit TinyServer(std::vector<ScriptedAnswer> script);
  ~TinyServer();
  TinyServer(const TinyServer&) = delete;
  TinyServer& operator=(const TinyServer&) = delete;

  std::uint16_t port() const { return port_; }
  std::string url() const;
  // Lets one more piece go out.
  void proceed();
  // The requests so far, head and body.
  std::vector<std::string> requests() const;

 private:
  void serve();
  void answer(int connection, const ScriptedAnswer& answer);
  bool wait_to_proceed();
  bool readable(int socket) const;

  std::vector<ScriptedAnswer> script_;
  int listener_ = -1;
  int wake_ = -1;  // becomes readable when the server is destroyed
  std::uint16_t port_ = 0;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  int allowed_pieces_ = 0;
  bool stopping_ = false;
  std::vector<std::string> requests_;
  std::thread thread_;
};

// A port of 127.0.0.1 that is taken but refuses connections.
class DeafPort {
 public:
  DeafPort();
  ~DeafPort();
  DeafPort(const DeafPort&) = delete;
  DeafPort& operator=(const DeafPort&) = delete;

  std::uint16_t port() const { return port_; }

 private:
  int socket_ = -1;
  std::uint16_t port_ = 0;
};

}  // namespace respool::test
