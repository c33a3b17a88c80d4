#include "ingest/opencode/http_client.h"

#include <cstdlib>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/support/tiny_server.h"

namespace respool::test {
namespace {

using namespace std::chrono_literals;
using End = ScriptedAnswer::End;
using StreamEnd = OpenCodeClient::StreamEnd;

constexpr auto kPatience = 20s;

ServerAddress at(const std::string& url) {
  const auto address = parse_server_url(url);
  REQUIRE(address);
  return address.value();
}

OpenCodeClient client_of(const TinyServer& server, std::chrono::milliseconds timeout = kPatience) {
  return OpenCodeClient(at(server.url()), std::nullopt, timeout);
}

std::string answer_of(const std::string& type, const std::string& body) {
  return "HTTP/1.1 200 OK\r\nContent-Type: " + type +
         "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

std::string status_of(const std::string& status) {
  return "HTTP/1.1 " + status + "\r\nContent-Length: 0\r\n\r\n";
}

const std::string kStreamHead =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";

// What a stream brought, and how it ended.
struct Streamed {
  std::vector<std::string> log;
  std::string bytes;
  Result<StreamEnd> end = StreamEnd::Broken;
};

Streamed stream_of(const TinyServer& server, std::chrono::milliseconds idle = kPatience) {
  Streamed result;
  result.end = client_of(server).stream(
      "/global/event",
      idle,
      nullptr,
      [&](std::string_view bytes) -> Result<void> {
        result.log.emplace_back("bytes");
        result.bytes += bytes;
        return ok();
      },
      [&]() -> Result<void> {
        result.log.emplace_back("open");
        return ok();
      });
  return result;
}

}  // namespace

TEST_CASE("the URL of a server is read strictly", "[ingest][opencode]") {
  const auto simple = at("http://127.0.0.1:4096/");
  CHECK(simple.host == "127.0.0.1");
  CHECK(simple.port == 4096);
  CHECK(simple.prefix.empty());
  CHECK(simple.text() == "http://127.0.0.1:4096");
  CHECK(at("HTTP://box.example/open/code//").text() == "http://box.example:80/open/code");
  CHECK(at("http://[::1]:65535").host == "::1");
  CHECK(at("http://[::1]:65535").text() == "http://[::1]:65535");

  for (const auto* wrong : {"",
                            "127.0.0.1:4096",
                            "http://",
                            "http:///x",
                            "http://:4096",
                            "http://host:",
                            "http://host:0",
                            "http://host:65536",
                            "http://host:-1",
                            "http://host:40x",
                            "http://host:+4",
                            "http://[::1",
                            "http://[]:1",
                            "http://[host]:1",
                            "http://[fe80::1%eth0]:1",
                            "http://[::1]4096",
                            "http://::1:4096",
                            "http://ho st:1",
                            "http://host:1/a b",
                            "http://host:1/\r\nX: y",
                            "http://host:1?directory=/x",
                            "http://host:1/#x",
                            "ftp://host:1"}) {
    INFO(wrong);
    const auto address = parse_server_url(wrong);
    REQUIRE(address.has_error());
    CHECK(address.error().code() == ErrorCode::InvalidArgument);
  }
}

TEST_CASE("https is refused with the way around it", "[ingest][opencode]") {
  const auto address = parse_server_url("https://box.example");

  REQUIRE(address.has_error());
  CHECK(address.error().code() == ErrorCode::InvalidArgument);
  CHECK(address.error().next().find("TLS proxy or a tunnel") != std::string::npos);
}

TEST_CASE("a password in the URL is refused and not repeated", "[ingest][opencode]") {
  for (const auto* url : {"http://me:hunter2@host:4096",
                          "https://me:hunter2@host",
                          "me:hunter2@host",
                          "http://me:hunter2/x@host:4096",
                          "http://me:hunter2 @host:4096"}) {
    const auto address = parse_server_url(url);
    REQUIRE(address.has_error());
    CHECK(address.error().code() == ErrorCode::InvalidArgument);
    CHECK(address.error().message().find("hunter2") == std::string::npos);
    CHECK(address.error().next().find("OPENCODE_SERVER_PASSWORD") != std::string::npos);
  }
}

TEST_CASE("credentials come from the environment of OpenCode", "[ingest][opencode]") {
  ::unsetenv("OPENCODE_SERVER_USERNAME");
  ::unsetenv("OPENCODE_SERVER_PASSWORD");
  CHECK_FALSE(Credentials::from_environment().has_value());
  ::setenv("OPENCODE_SERVER_PASSWORD", "", 1);
  CHECK_FALSE(Credentials::from_environment().has_value());

  ::setenv("OPENCODE_SERVER_PASSWORD", "s3cret", 1);
  CHECK(Credentials::from_environment()->user == "opencode");
  CHECK(Credentials::from_environment()->basic() == "Basic b3BlbmNvZGU6czNjcmV0");
  ::setenv("OPENCODE_SERVER_USERNAME", "me", 1);
  CHECK(Credentials::from_environment()->basic() == "Basic bWU6czNjcmV0");
  ::unsetenv("OPENCODE_SERVER_USERNAME");
  ::unsetenv("OPENCODE_SERVER_PASSWORD");

  CHECK(Credentials{"a", ""}.basic() == "Basic YTo=");
  CHECK(Credentials{"a", "b\xFF"}.basic() == "Basic YTpi/w==");
}

TEST_CASE("a get asks for the target below the prefix and returns the body", "[ingest][opencode]") {
  TinyServer server({{{answer_of("application/json; charset=utf-8", "[1,2]")}, End::Close}});
  const OpenCodeClient client(
      at(server.url() + "/code/"), Credentials{"opencode", "s3cret"}, kPatience);

  const auto answer = client.get("/session?limit=2");

  REQUIRE(answer);
  CHECK(answer.value() == "[1,2]");
  REQUIRE(server.requests().size() == 1);
  const std::string request = server.requests()[0];
  CHECK(request.starts_with("GET /code/session?limit=2 HTTP/1.1\r\n"));
  CHECK(request.find("\r\nHost: 127.0.0.1:" + std::to_string(server.port()) + "\r\n") !=
        std::string::npos);
  CHECK(request.find("\r\nAuthorization: Basic b3BlbmNvZGU6czNjcmV0\r\n") != std::string::npos);
  CHECK(request.find("\r\nAccept-Encoding: identity\r\n") != std::string::npos);
  CHECK(request.find("\r\nConnection: close\r\n") != std::string::npos);
}

TEST_CASE("a post sends its body as JSON, and no password where none is known",
          "[ingest][opencode]") {
  TinyServer server({{{answer_of("application/json", "[]")}, End::Close}});

  REQUIRE(client_of(server).post("/sync/history", "{\"ses_1\":4}"));

  const std::string request = server.requests().at(0);
  CHECK(request.starts_with("POST /sync/history HTTP/1.1\r\n"));
  CHECK(request.find("\r\nContent-Type: application/json\r\n") != std::string::npos);
  CHECK(request.find("\r\nContent-Length: 11\r\n") != std::string::npos);
  CHECK(request.ends_with("\r\n\r\n{\"ses_1\":4}"));
  CHECK(request.find("Authorization") == std::string::npos);
}

TEST_CASE("a target that would change the request is refused before it is sent",
          "[ingest][opencode]") {
  const OpenCodeClient client(at("http://127.0.0.1:1"), std::nullopt, kPatience);

  for (const auto* target : {"", "session", "/a b", "/a\r\nX: y", "/\xC3\xA9"}) {
    const auto answer = client.get(target);
    REQUIRE(answer.has_error());
    CHECK(answer.error().code() == ErrorCode::InvalidArgument);
  }
}

TEST_CASE("an answer in chunks is put together", "[ingest][opencode]") {
  const std::string head =
      "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
  const std::string big(300'000, 'x');
  TinyServer server(
      {{{head + "4;a=b\r\n[\"ab\r\n2\r\n\"]\r\n0\r\nTrailer: x\r\n\r\n"}, End::Hold},
       {{head + "493e0\r\n" + big + "\r\n493e0\r\n" + big + "\r\n0\r\n\r\n"}, End::Hold}});

  const auto small = client_of(server).get("/a");
  const auto large = client_of(server).get("/b");

  REQUIRE(small);
  CHECK(small.value() == "[\"ab\"]");
  REQUIRE(large);
  CHECK((large.value() == big + big));
}

TEST_CASE("the server's page in place of JSON is an error", "[ingest][opencode]") {
  TinyServer server({{{answer_of("text/html", "<!doctype html>")}, End::Close},
                     {{answer_of("text/html", "<!doctype html>")}, End::Close}});

  const auto answer = client_of(server).get("/nope?directory=/secret");
  const auto streamed = stream_of(server);

  REQUIRE(answer.has_error());
  CHECK(answer.error().code() == ErrorCode::UnsupportedFormat);
  CHECK(answer.error().message() ==
        "GET " + server.url() +
            "/nope: the server answered with its web page, which it does where it does not know "
            "the path");
  REQUIRE(streamed.end.has_error());
  CHECK(streamed.end.error().code() == ErrorCode::UnsupportedFormat);
  CHECK(streamed.log.empty());
}

TEST_CASE("a 401 says which variable to set", "[ingest][opencode]") {
  TinyServer server({{{status_of("401 Unauthorized")}, End::Close},
                     {{status_of("401 Unauthorized")}, End::Close}});

  const auto without = client_of(server).get("/session");
  const auto with =
      OpenCodeClient(at(server.url()), Credentials{"me", "hunter2"}, kPatience).get("/session");

  REQUIRE(without.has_error());
  CHECK(without.error().code() == ErrorCode::InvalidArgument);
  CHECK(without.error().message().find("wants a password") != std::string::npos);
  CHECK(without.error().next().find("OPENCODE_SERVER_PASSWORD") != std::string::npos);
  REQUIRE(with.has_error());
  CHECK(with.error().message().find("refuses this user and password") != std::string::npos);
  CHECK(with.error().message().find("hunter2") == std::string::npos);
}

TEST_CASE("other status codes are named", "[ingest][opencode]") {
  const std::vector<std::pair<std::string, ErrorCode>> cases = {
      {"404 Not Found", ErrorCode::NotFound},
      {"400 Bad Request", ErrorCode::InvalidArgument},
      {"500 Internal Server Error", ErrorCode::Io},
      {"204 No Content", ErrorCode::Io},
      {"302 Found", ErrorCode::Io}};
  for (const auto& [status, code] : cases) {
    TinyServer server({{{status_of(status)}, End::Close}});

    const auto answer = client_of(server).get("/session/ses_1");

    REQUIRE(answer.has_error());
    CHECK(answer.error().code() == code);
    CHECK(answer.error().message().ends_with("/session/ses_1: the server answered " +
                                             status.substr(0, 3)));
  }
}

TEST_CASE("an answer that is cut is an error, not a short answer", "[ingest][opencode]") {
  const std::string chunked =
      "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (const auto end : {End::Close, End::Reset}) {
    for (const auto& cut :
         {answer_of("application/json", "[1,2,3]").substr(0, 70), chunked + "3\r\n[1]\r\n"}) {
      TinyServer server({{{cut}, end}});

      const auto answer = client_of(server).get("/session");

      REQUIRE(answer.has_error());
      CHECK(answer.error().code() == ErrorCode::Io);
    }
  }

  TinyServer server({{{}, End::Close}, {{"SSH-2.0-OpenSSH\r\n"}, End::Close}});
  for (int i = 0; i < 2; ++i) {
    const auto answer = client_of(server).get("/session");
    REQUIRE(answer.has_error());
    CHECK(answer.error().message().find("no answer of an HTTP server") != std::string::npos);
  }
}

TEST_CASE("an answer above the limit is refused from its head", "[ingest][opencode]") {
  TinyServer server({{{"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                       "Content-Length: 4294967297\r\n\r\n["},
                      End::Hold}});

  const auto answer = client_of(server).get("/session");

  REQUIRE(answer.has_error());
  CHECK(answer.error().code() == ErrorCode::Io);
  CHECK(answer.error().message().find("longer than 4294967296 bytes") != std::string::npos);
}

TEST_CASE("a server that is silent is not waited for without end", "[ingest][opencode]") {
  TinyServer server(
      {{{}, End::Hold}, {{answer_of("application/json", "[1,2]").substr(0, 60)}, End::Hold}});

  for (int i = 0; i < 2; ++i) {
    const auto answer = client_of(server, 30ms).get("/session");
    REQUIRE(answer.has_error());
    CHECK(answer.error().code() == ErrorCode::Io);
    CHECK(answer.error().message().find("the server was silent for 30 ms") != std::string::npos);
  }
}

TEST_CASE("where nothing listens the error says how to start a server", "[ingest][opencode]") {
  const DeafPort deaf;
  const std::string port = std::to_string(deaf.port());
  const OpenCodeClient client(at("http://127.0.0.1:" + port), std::nullopt, kPatience);

  const auto answer = client.get("/session");
  const auto streamed = client.stream("/global/event", kPatience, nullptr, nullptr, nullptr);

  REQUIRE(answer.has_error());
  CHECK(answer.error().code() == ErrorCode::Io);
  CHECK(answer.error().message() == "nothing listens at http://127.0.0.1:" + port);
  CHECK(answer.error().next() == "start it with: opencode serve --port " + port);
  REQUIRE(streamed.has_error());
  CHECK(streamed.error().message() == answer.error().message());
}

TEST_CASE("a host may be a name", "[ingest][opencode]") {
  TinyServer server({{{answer_of("application/json", "[]")}, End::Close}});
  const OpenCodeClient client(
      at("http://localhost:" + std::to_string(server.port())), std::nullopt, kPatience);

  CHECK(client.get("/session"));
}

TEST_CASE("a stream hands over bytes as they come until the server ends it", "[ingest][opencode]") {
  TinyServer server(
      {{{kStreamHead, "9\r\ndata: a\n\n\r\n", "9\r\ndata: b\n\n\r\n", "0\r\n\r\n"}, End::Close}});
  std::vector<std::string> pieces;

  // Each piece is sent only once the one before it has arrived.
  const auto end = client_of(server).stream(
      "/global/event",
      kPatience,
      nullptr,
      [&](std::string_view bytes) -> Result<void> {
        pieces.emplace_back(bytes);
        server.proceed();
        return ok();
      },
      [&]() -> Result<void> {
        pieces.emplace_back("open");
        server.proceed();
        return ok();
      });

  REQUIRE(end);
  CHECK(end.value() == StreamEnd::ServerEnded);
  CHECK(pieces == std::vector<std::string>{"open", "data: a\n\n", "data: b\n\n"});
  CHECK(server.requests().at(0).find("\r\nAccept: text/event-stream\r\n") != std::string::npos);
}

TEST_CASE("a stream that is cut has handed over what came before", "[ingest][opencode]") {
  for (const auto* cut :
       {"9\r\ndata: a\n\n\r\n", "20\r\ndata: a\n\n", "9\r\ndata: a\n\n\r\nno chunk\r\n"}) {
    TinyServer server({{{kStreamHead + cut}, End::Close}});

    const auto streamed = stream_of(server);

    REQUIRE(streamed.end);
    CHECK(streamed.end.value() == StreamEnd::Broken);
    CHECK(streamed.bytes == "data: a\n\n");
    CHECK(streamed.log.front() == "open");
  }
}

TEST_CASE("a connection that is reset ends the stream as broken", "[ingest][opencode]") {
  TinyServer server({{{kStreamHead, ""}, End::Reset}});

  const auto end = client_of(server).stream(
      "/global/event",
      kPatience,
      nullptr,
      [](std::string_view) -> Result<void> { return ok(); },
      [&]() -> Result<void> {
        server.proceed();
        return ok();
      });

  REQUIRE(end);
  CHECK(end.value() == StreamEnd::Broken);
}

TEST_CASE("a stream without a byte for the idle time ends as idle", "[ingest][opencode]") {
  TinyServer server({{{kStreamHead + "9\r\ndata: a\n\n\r\n"}, End::Hold}});

  const auto streamed = stream_of(server, 30ms);

  REQUIRE(streamed.end);
  CHECK(streamed.end.value() == StreamEnd::Idle);
  CHECK(streamed.bytes == "data: a\n\n");
}

TEST_CASE("a stop ends a stream, before and after it is open", "[ingest][opencode]") {
  TinyServer server({{{kStreamHead}, End::Hold}, {{}, End::Hold}});
  std::atomic<bool> stop = false;
  const auto take = [](std::string_view) -> Result<void> { return ok(); };
  const auto stop_now = [&]() -> Result<void> {
    stop = true;
    return ok();
  };

  const auto open = client_of(server).stream("/global/event", kPatience, &stop, take, stop_now);
  const auto begun = std::chrono::steady_clock::now();
  const auto unopened = client_of(server).stream("/global/event", kPatience, &stop, take, stop_now);

  REQUIRE(open);
  CHECK(open.value() == StreamEnd::Stopped);
  REQUIRE(unopened);
  CHECK(unopened.value() == StreamEnd::Stopped);
  CHECK(std::chrono::steady_clock::now() - begun < kPatience);
}

TEST_CASE("an error of a callback ends the stream and is returned", "[ingest][opencode]") {
  TinyServer server({{{kStreamHead + "1\r\na\r\n"}, End::Hold}, {{kStreamHead}, End::Hold}});
  const auto full = [](std::string_view) -> Result<void> { return Error(ErrorCode::Io, "full"); };
  const auto closed = []() -> Result<void> { return Error(ErrorCode::Io, "closed"); };

  const auto at_bytes =
      client_of(server).stream("/global/event", kPatience, nullptr, full, nullptr);
  const auto at_open = client_of(server).stream("/global/event", kPatience, nullptr, full, closed);

  REQUIRE(at_bytes.has_error());
  CHECK(at_bytes.error().message() == "full");
  REQUIRE(at_open.has_error());
  CHECK(at_open.error().message() == "closed");
}

}  // namespace respool::test
