#include "ingest/opencode/server_address.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>

#include <arpa/inet.h>
#include <fmt/format.h>

#include "schema/base64.h"

namespace respool {
namespace {

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return result;
}

bool is_host_name(std::string_view text) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz0123456789-._";
  return !text.empty() && lower(text).find_first_not_of(kLetters) == std::string::npos;
}

bool is_ipv6(const std::string& text) {
  std::array<unsigned char, 16> bytes{};
  return ::inet_pton(AF_INET6, text.c_str(), bytes.data()) == 1;
}

Error bad_url(std::string_view url, std::string_view fault) {
  return Error(ErrorCode::InvalidArgument,
               fmt::format("server \"{}\": {}", url, fault),
               "write it as http://127.0.0.1:4096");
}

Result<std::uint16_t> parse_port(std::string_view url, std::string_view digits) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (error != std::errc() || end != digits.data() + digits.size() || port == 0)
    return bad_url(url, "the port is not a number from 1 to 65535");
  return port;
}

}  // namespace

bool fits_request_line(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < '\x7f'; });
}

std::string ServerAddress::host_and_port() const {
  const bool six = host.find(':') != std::string::npos;
  return six ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

std::string ServerAddress::text() const {
  return "http://" + host_and_port() + prefix;
}

Result<ServerAddress> parse_server_url(std::string_view url) {
  if (url.find('@') != std::string_view::npos) {
    return Error(ErrorCode::InvalidArgument,
                 "a server's URL with a user or password in it is refused: others see it",
                 "set OPENCODE_SERVER_USERNAME and OPENCODE_SERVER_PASSWORD instead");
  }
  if (!fits_request_line(url)) return bad_url("...", "it has a character that no URL has");
  if (lower(url).starts_with("https://")) {
    return Error(ErrorCode::InvalidArgument,
                 fmt::format("server \"{}\": https is not spoken here", url),
                 "put a TLS proxy or a tunnel (ssh -L) in between and name its http:// end");
  }
  constexpr std::string_view kScheme = "http://";
  if (!lower(url).starts_with(kScheme)) return bad_url(url, "it does not begin with http://");
  if (url.find_first_of("?#\\") != std::string_view::npos)
    return bad_url(url, "it has more than a host, a port and a path");
  std::string_view rest = url.substr(kScheme.size());
  ServerAddress address;
  const auto slash = std::min(rest.find('/'), rest.size());
  address.prefix = rest.substr(slash);
  while (address.prefix.ends_with('/'))
    address.prefix.pop_back();
  rest = rest.substr(0, slash);
  if (rest.starts_with('[')) {
    const auto close = std::min(rest.find(']'), rest.size());
    address.host = rest.substr(1, close - 1);
    if (close == rest.size() || !is_ipv6(address.host))
      return bad_url(url, "what is in brackets is not an IPv6 address");
    rest.remove_prefix(close + 1);
  } else {
    address.host = rest.substr(0, rest.find(':'));
    if (!is_host_name(address.host)) return bad_url(url, "the host is not a name or an address");
    rest.remove_prefix(address.host.size());
  }
  address.port = 80;
  if (rest.empty()) return address;
  if (rest.front() != ':') return bad_url(url, "after the host comes a colon and the port");
  RESPOOL_TRY(address.port, parse_port(url, rest.substr(1)));
  return address;
}

std::optional<Credentials> Credentials::from_environment() {
  const char* user = std::getenv("OPENCODE_SERVER_USERNAME");
  const char* password = std::getenv("OPENCODE_SERVER_PASSWORD");
  if (password == nullptr || *password == '\0') return std::nullopt;
  return Credentials{user == nullptr ? "opencode" : user, password};
}

std::string Credentials::basic() const {
  return "Basic " + base64(user + ":" + password);
}

}  // namespace respool
