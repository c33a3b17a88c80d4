#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "schema/error.h"

namespace respool {

// Where an OpenCode server listens.
struct ServerAddress {
  std::string host;  // a name or an address, IPv6 without brackets
  std::uint16_t port = 0;
  std::string prefix;  // path before every target, without a slash at its end; mostly empty

  // The host as a URL has it, with the port: "127.0.0.1:4096", "[::1]:4096".
  std::string host_and_port() const;
  // The address as a URL, port included.
  std::string text() const;
};

// Reads "http://host:port", a path allowed. InvalidArgument names the fault; it never repeats a
// password that stands in the URL.
Result<ServerAddress> parse_server_url(std::string_view url);

// True where the text can stand in the first line of a request: visible ASCII, no spaces.
bool fits_request_line(std::string_view text);

// What a protected server wants to hear.
struct Credentials {
  std::string user;
  std::string password;

  // From OPENCODE_SERVER_USERNAME and OPENCODE_SERVER_PASSWORD; none where there is no password.
  static std::optional<Credentials> from_environment();
  // The value of an Authorization header.
  std::string basic() const;
};

}  // namespace respool
