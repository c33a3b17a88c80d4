#include "tests/support/tiny_server.h"

#include <array>
#include <cerrno>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>

#include <poll.h>
#include <unistd.h>

#include <netinet/in.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

namespace respool::test {
namespace {

void check(bool good) {
  if (!good) throw std::system_error(errno, std::generic_category(), "tiny server");
}

// A socket bound to a free port of 127.0.0.1, and that port.
std::pair<int, std::uint16_t> bound_socket() {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  check(socket >= 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* place = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof(address);
  check(::bind(socket, place, size) == 0);
  check(::getsockname(socket, place, &size) == 0);
  return {socket, ntohs(address.sin_port)};
}

void send_all(int connection, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(connection, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;  // the client left, which some tests want
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

// How long a request is in all, or 0 while its head is not whole.
std::size_t request_bytes(const std::string& text) {
  constexpr std::string_view kLength = "Content-Length: ";
  const auto end = text.find("\r\n\r\n");
  if (end == std::string::npos) return 0;
  const auto length = text.find(kLength);
  const bool has_body = length < end;
  return end + 4 + (has_body ? std::stoul(text.substr(length + kLength.size())) : 0);
}

}  // namespace

TinyServer::TinyServer(std::vector<ScriptedAnswer> script) : script_(std::move(script)) {
  std::tie(listener_, port_) = bound_socket();
  check(::listen(listener_, 16) == 0);
  wake_ = ::eventfd(0, EFD_CLOEXEC);
  check(wake_ >= 0);
  thread_ = std::thread([this] { serve(); });
}

TinyServer::~TinyServer() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  ::eventfd_write(wake_, 1);
  thread_.join();
  ::close(listener_);
  ::close(wake_);
}

std::string TinyServer::url() const {
  return "http://127.0.0.1:" + std::to_string(port_);
}

void TinyServer::proceed() {
  {
    const std::lock_guard lock(mutex_);
    ++allowed_pieces_;
  }
  changed_.notify_all();
}

std::vector<std::string> TinyServer::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

// Waits until the socket has something to read; false where the server is being destroyed.
bool TinyServer::readable(int socket) const {
  std::array<pollfd, 2> watched{pollfd{socket, POLLIN, 0}, pollfd{wake_, POLLIN, 0}};
  while (::poll(watched.data(), watched.size(), -1) < 0 && errno == EINTR) {
  }
  return watched[1].revents == 0;
}

void TinyServer::serve() {
  for (const auto& scripted : script_) {
    if (!readable(listener_)) return;
    const int connection = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection < 0) return;
    answer(connection, scripted);
    ::close(connection);
  }
}

void TinyServer::answer(int connection, const ScriptedAnswer& answer) {
  std::string request;
  std::array<char, 4096> buffer{};
  while (request_bytes(request) == 0 || request.size() < request_bytes(request)) {
    if (!readable(connection)) return;
    const ssize_t got = ::recv(connection, buffer.data(), buffer.size(), 0);
    if (got <= 0) return;
    request.append(buffer.data(), static_cast<std::size_t>(got));
  }
  {
    const std::lock_guard lock(mutex_);
    requests_.push_back(request);
  }
  for (std::size_t i = 0; i < answer.pieces.size(); ++i) {
    if (i > 0 && !wait_to_proceed()) return;
    send_all(connection, answer.pieces[i]);
  }
  if (answer.end == ScriptedAnswer::End::Hold) readable(connection);
  if (answer.end == ScriptedAnswer::End::Reset) {
    const linger at_once{1, 0};
    ::setsockopt(connection, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
  }
}

bool TinyServer::wait_to_proceed() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return stopping_ || allowed_pieces_ > 0; });
  if (stopping_) return false;
  --allowed_pieces_;
  return true;
}

DeafPort::DeafPort() {
  std::tie(socket_, port_) = bound_socket();
}

DeafPort::~DeafPort() {
  ::close(socket_);
}

}  // namespace respool::test
