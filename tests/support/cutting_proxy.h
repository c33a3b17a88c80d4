#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

namespace respool::test {

// Stands before a server on 127.0.0.1 and forwards everything, but cuts the connections that ask
// for one path: the n-th of them after it carried `cuts[n]` bytes to the client. Those after the
// last cut stay.
//
// Threads: one for each connection and one that accepts; members from any thread.
class CuttingProxy {
 public:
  CuttingProxy(std::uint16_t server_port, std::string path, std::vector<std::size_t> cuts);
  ~CuttingProxy();
  CuttingProxy(const CuttingProxy&) = delete;
  CuttingProxy& operator=(const CuttingProxy&) = delete;

  std::string url() const;
  std::size_t cuts_made() const { return cuts_made_; }

 private:
  void accept_all();
  void forward(int client);
  std::size_t next_limit();

  std::uint16_t server_port_;
  std::string path_;
  std::vector<std::size_t> cuts_;
  std::atomic<std::size_t> connections_{0};
  std::atomic<std::size_t> cuts_made_{0};
  int listener_ = -1;
  int wake_ = -1;  // becomes readable when the proxy is destroyed
  std::uint16_t port_ = 0;
  std::vector<std::thread> forwarders_;
  std::thread acceptor_;  // last: it uses all of the above
};

}  // namespace respool::test
