#include "tests/support/cutting_proxy.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>
#include <string_view>
#include <system_error>
#include <utility>

#include <poll.h>
#include <unistd.h>

#include <netinet/in.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

namespace respool::test {
namespace {

constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();

void check(bool good) {
  if (!good) throw std::system_error(errno, std::generic_category(), "cutting proxy");
}

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

int socket_to(std::uint16_t port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  auto address = loopback(port);
  if (::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0) return socket;
  ::close(socket);
  return -1;
}

bool send_all(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

}  // namespace

CuttingProxy::CuttingProxy(std::uint16_t server_port,
                           std::string path,
                           std::vector<std::size_t> cuts)
    : server_port_(server_port), path_(std::move(path)), cuts_(std::move(cuts)) {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  check(listener_ >= 0);
  auto address = loopback(0);
  auto* place = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof(address);
  check(::bind(listener_, place, size) == 0 && ::listen(listener_, 16) == 0);
  check(::getsockname(listener_, place, &size) == 0);
  port_ = ntohs(address.sin_port);
  wake_ = ::eventfd(0, EFD_CLOEXEC);
  check(wake_ >= 0);
  acceptor_ = std::thread([this] { accept_all(); });
}

CuttingProxy::~CuttingProxy() {
  ::eventfd_write(wake_, 1);
  acceptor_.join();
  for (auto& forwarder : forwarders_)
    forwarder.join();
  ::close(listener_);
  ::close(wake_);
}

std::string CuttingProxy::url() const {
  return "http://127.0.0.1:" + std::to_string(port_);
}

void CuttingProxy::accept_all() {
  while (true) {
    std::array<pollfd, 2> watched{pollfd{listener_, POLLIN, 0}, pollfd{wake_, POLLIN, 0}};
    if (::poll(watched.data(), watched.size(), -1) < 0) continue;
    if (watched[1].revents != 0) return;
    const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) continue;
    forwarders_.emplace_back([this, client] { forward(client); });
  }
}

std::size_t CuttingProxy::next_limit() {
  const std::size_t number = connections_++;
  return number < cuts_.size() ? cuts_[number] : kNoLimit;
}

void CuttingProxy::forward(int client) {
  const int server = socket_to(server_port_);
  const std::string asks = "GET " + path_ + " ";
  std::size_t left = kNoLimit;
  bool open = server >= 0;
  std::array<char, 4096> buffer{};
  while (open) {
    std::array<pollfd, 3> watched{
        pollfd{client, POLLIN, 0}, pollfd{server, POLLIN, 0}, pollfd{wake_, POLLIN, 0}};
    if (::poll(watched.data(), watched.size(), -1) < 0) continue;
    if (watched[2].revents != 0) break;
    if (watched[0].revents != 0) {
      const ssize_t got = ::recv(client, buffer.data(), buffer.size(), 0);
      const std::string_view bytes(buffer.data(),
                                   static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
      if (bytes.starts_with(asks)) left = next_limit();
      open = got > 0 && send_all(server, bytes);
    }
    if (open && watched[1].revents != 0) {
      const ssize_t got = ::recv(server, buffer.data(), buffer.size(), 0);
      const auto size = std::min(static_cast<std::size_t>(std::max<ssize_t>(got, 0)), left);
      open = got > 0 && send_all(client, {buffer.data(), size});
      if (left != kNoLimit) left -= size;
      if (left == 0) {
        ++cuts_made_;
        open = false;
      }
    }
  }
  ::close(client);
  if (server >= 0) ::close(server);
}

}  // namespace respool::test
