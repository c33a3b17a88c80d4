#include "ingest/opencode/http_client.h"

#include <algorithm>
#include <exception>
#include <utility>
#include <vector>

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <fmt/format.h>

namespace respool {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;
using std::chrono::milliseconds;
using std::chrono::steady_clock;
using Request = http::request<http::string_body>;

// Of the head of an answer; that of the server's page is long.
constexpr std::uint32_t kMaxHeadBytes = 64U << 10;
constexpr std::size_t kReadBytes = 64U << 10;
constexpr milliseconds kStopCheck{100};
constexpr milliseconds kLongestWait = std::chrono::hours(24 * 365);

// The media type of an answer without its parameters, in lower case.
std::string media_type(std::string_view content_type) {
  std::string type(content_type.substr(0, content_type.find(';')));
  type.erase(type.find_last_not_of(" \t") + 1);
  for (char& c : type)
    c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return type;
}

Result<Request> make_request(const ServerAddress& address,
                             const std::optional<Credentials>& credentials,
                             http::verb verb,
                             std::string_view target) {
  if (!target.starts_with('/') || !fits_request_line(target))
    return Error(ErrorCode::InvalidArgument, "a target begins with a slash and is percent-encoded");
  Request request(verb, address.prefix + std::string(target), 11);
  request.set(http::field::host, address.host_and_port());
  request.set(http::field::user_agent, "respool");
  request.set(http::field::accept_encoding, "identity");
  request.keep_alive(false);
  if (credentials) request.set(http::field::authorization, credentials->basic());
  return request;
}

// What one wait for the server brought.
enum class Wait { Done, TimedOut, Stopped };

struct Piece {
  enum class State { More, Done, Broken, TimedOut, Stopped };
  State state = State::More;
  std::string_view bytes;  // until the next read; may come with any state
  error_code error;        // of Broken
};

// One request and its answer over a connection of their own. Every step ends: by itself, after a
// time without progress, or because of `stop`.
//
// Threads: one. Errors: Io, and Interrupted where `stop` ended the step.
class Exchange {
 public:
  Exchange(const ServerAddress& address, const Request& request, const std::atomic<bool>* stop)
      : address_(address), request_(request), stop_(stop), buffer_(kReadBytes) {
    const std::string_view target(request.target().data(), request.target().size());
    const std::string_view path = target.substr(address.prefix.size());
    place_ = fmt::format("{} {}{}",
                         std::string_view(request.method_string().data(),  //
                                          request.method_string().size()),
                         address.text(),
                         path.substr(0, path.find('?')));
    parser_.header_limit(kMaxHeadBytes);
    parser_.eager(true);
  }

  // Connects, sends the request, reads the head of the answer.
  Result<void> open(milliseconds timeout);
  // Fails unless the answer is a 200 of a media type that ends so.
  Result<void> check_head(std::string_view wanted_type) const;
  // The next bytes of the body.
  Piece read_some(milliseconds timeout);

  void limit_body(boost::optional<std::uint64_t> bytes) { parser_.body_limit(bytes); }
  std::uint64_t announced_bytes() const { return parser_.content_length().value_or(0); }
  Error broken(const error_code& error, std::uint64_t bytes) const;
  Error silent(milliseconds timeout) const;

 private:
  template <class Start>
  std::pair<Wait, error_code> run(const Start& start, milliseconds limit);
  Result<void> connect(milliseconds timeout);
  Result<std::vector<tcp::endpoint>> endpoints(milliseconds timeout);
  Error halted(Wait wait, milliseconds timeout) const;

  const ServerAddress& address_;
  const Request& request_;
  const std::atomic<bool>* stop_;
  std::string place_;  // what is asked of whom, for messages
  std::vector<char> buffer_;
  asio::io_context io_;
  tcp::resolver resolver_{io_};
  tcp::socket socket_{io_};
  boost::beast::flat_buffer input_;
  http::response_parser<http::buffer_body> parser_;
};

// Runs one asynchronous operation to its end. An operation that must end early is cancelled and
// waited for, since its handler refers to this frame.
template <class Start>
std::pair<Wait, error_code> Exchange::run(const Start& start, milliseconds limit) {
  bool done = false;
  error_code result;
  io_.restart();
  start([&](const error_code& error, auto&&...) {
    result = error;
    done = true;
  });
  const auto deadline = steady_clock::now() + std::min(limit, kLongestWait);
  Wait wait = Wait::Done;
  while (!done && wait == Wait::Done) {
    const auto now = steady_clock::now();
    if (stop_ != nullptr && stop_->load()) {
      wait = Wait::Stopped;
    } else if (now >= deadline) {
      wait = Wait::TimedOut;
    } else {
      io_.run_one_until(std::min<steady_clock::time_point>(deadline, now + kStopCheck));
    }
  }
  if (wait == Wait::Done) return {wait, result};
  error_code ignored;
  resolver_.cancel();
  socket_.close(ignored);
  while (!done)
    io_.run_one();
  return {wait, result};
}

Error Exchange::silent(milliseconds timeout) const {
  return Error(ErrorCode::Io,
               fmt::format("{}: the server was silent for {} ms", place_, timeout.count()),
               "the first answers of a server that just started can take two minutes: try again");
}

Error Exchange::halted(Wait wait, milliseconds timeout) const {
  if (wait == Wait::Stopped)
    return Error(ErrorCode::Interrupted, fmt::format("{}: stopped", place_));
  return silent(timeout);
}

Error Exchange::broken(const error_code& error, std::uint64_t bytes) const {
  if (error == http::error::body_limit) {
    return Error(
        ErrorCode::Io,
        fmt::format(
            "{}: the answer is longer than {} bytes", place_, OpenCodeClient::kMaxAnswerBytes),
        "read the database file instead");
  }
  return Error(ErrorCode::Io,
               fmt::format("{}: the answer broke off after {} bytes of its body: {}",
                           place_,
                           bytes,
                           error.message()),
               "try again");
}

Result<std::vector<tcp::endpoint>> Exchange::endpoints(milliseconds timeout) {
  std::vector<tcp::endpoint> found;
  error_code not_literal;
  const auto literal = asio::ip::make_address(address_.host, not_literal);
  if (!not_literal) {
    found.emplace_back(literal, address_.port);
    return found;
  }
  const auto [wait, error] = run(
      [&](auto handler) {
        resolver_.async_resolve(
            address_.host,
            std::to_string(address_.port),
            [&found, handler](const error_code& failure, const auto& results) mutable {
              found.assign(results.begin(), results.end());
              handler(failure);
            });
      },
      timeout);
  if (wait != Wait::Done) return halted(wait, timeout);
  if (error) {
    return Error(ErrorCode::Io,
                 fmt::format("{}: the host is not found: {}", address_.text(), error.message()));
  }
  return found;
}

Result<void> Exchange::connect(milliseconds timeout) {
  RESPOOL_TRY(const auto places, endpoints(timeout));
  const auto [wait, error] =
      run([&](auto handler) { asio::async_connect(socket_, places, handler); }, timeout);
  if (wait != Wait::Done) return halted(wait, timeout);
  if (error == asio::error::connection_refused) {
    return Error(ErrorCode::Io,
                 fmt::format("nothing listens at {}", address_.text()),
                 fmt::format("start it with: opencode serve --port {}", address_.port));
  }
  if (error) {
    return Error(ErrorCode::Io,
                 fmt::format("cannot connect to {}: {}", address_.text(), error.message()));
  }
  return ok();
}

Result<void> Exchange::open(milliseconds timeout) {
  RESPOOL_TRY(connect(timeout));
  const auto [sending, send_error] =
      run([&](auto handler) { http::async_write(socket_, request_, handler); }, timeout);
  if (sending != Wait::Done) return halted(sending, timeout);
  if (send_error) {
    return Error(ErrorCode::Io,
                 fmt::format("{}: the request was not sent: {}", place_, send_error.message()));
  }
  const auto [reading, read_error] = run(
      [&](auto handler) { http::async_read_header(socket_, input_, parser_, handler); }, timeout);
  if (reading != Wait::Done) return halted(reading, timeout);
  if (read_error == http::error::body_limit) return broken(read_error, 0);
  if (read_error) {
    return Error(ErrorCode::Io,
                 fmt::format("{}: no answer of an HTTP server: {}", place_, read_error.message()),
                 "check that this is the port of an OpenCode server");
  }
  return ok();
}

Result<void> Exchange::check_head(std::string_view wanted_type) const {
  const auto& head = parser_.get();
  const unsigned status = head.result_int();
  if (status == 401) {
    const bool sent = request_.find(http::field::authorization) != request_.end();
    return Error(ErrorCode::InvalidArgument,
                 fmt::format("{}: the server {}",
                             place_,
                             sent ? "refuses this user and password" : "wants a password"),
                 "set OPENCODE_SERVER_PASSWORD (and OPENCODE_SERVER_USERNAME, where it is not "
                 "\"opencode\") as the server has it");
  }
  if (status != 200) {
    const ErrorCode code = status == 404                   ? ErrorCode::NotFound
                           : status >= 400 && status < 500 ? ErrorCode::InvalidArgument
                                                           : ErrorCode::Io;
    return Error(code, fmt::format("{}: the server answered {}", place_, status));
  }
  const auto field = head[http::field::content_type];
  const std::string type = media_type(std::string_view(field.data(), field.size()));
  if (type.ends_with(wanted_type)) return ok();
  return Error(ErrorCode::UnsupportedFormat,
               fmt::format("{}: the server answered with {}, which it does where it does not know "
                           "the path",
                           place_,
                           type == "text/html" ? "its web page" : "another type of content"),
               "check that this is an OpenCode server, and of which version (GET /global/health)");
}

Piece Exchange::read_some(milliseconds timeout) {
  using State = Piece::State;
  if (parser_.is_done()) return {State::Done, {}, {}};
  auto& body = parser_.get().body();
  body.data = buffer_.data();
  body.size = buffer_.size();
  const auto [wait, error] =
      run([&](auto handler) { http::async_read_some(socket_, input_, parser_, handler); }, timeout);
  const std::string_view bytes(buffer_.data(), buffer_.size() - body.size);
  if (wait == Wait::TimedOut) return {State::TimedOut, bytes, {}};
  if (wait == Wait::Stopped) return {State::Stopped, bytes, {}};
  if (error && error != http::error::need_buffer) return {State::Broken, bytes, error};
  return {State::More, bytes, {}};
}

Result<std::string> ask(const ServerAddress& address,
                        const Request& request,
                        milliseconds timeout) {
  Exchange exchange(address, request, nullptr);
  exchange.limit_body(OpenCodeClient::kMaxAnswerBytes);
  RESPOOL_TRY(exchange.open(timeout));
  RESPOOL_TRY(exchange.check_head("json"));
  std::string answer;
  answer.reserve(exchange.announced_bytes());
  while (true) {
    const Piece piece = exchange.read_some(timeout);
    answer += piece.bytes;
    if (piece.state == Piece::State::Done) return answer;
    if (piece.state == Piece::State::TimedOut) return exchange.silent(timeout);
    if (piece.state == Piece::State::Broken) return exchange.broken(piece.error, answer.size());
  }
}

// Calls what may throw inside Boost or for lack of memory, and makes an Error of it.
template <class Call>
auto guarded(const ServerAddress& address, const Call& call) -> decltype(call()) {
  try {
    return call();
  } catch (const std::exception& thrown) {
    return Error(ErrorCode::Io, fmt::format("{}: {}", address.text(), thrown.what()));
  }
}

}  // namespace

Result<std::string> OpenCodeClient::get(const std::string& target) const {
  return guarded(address_, [&]() -> Result<std::string> {
    RESPOOL_TRY(auto request, make_request(address_, credentials_, http::verb::get, target));
    request.set(http::field::accept, "application/json");
    return ask(address_, request, timeout_);
  });
}

Result<std::string> OpenCodeClient::post(const std::string& target,
                                         const std::string& json_body) const {
  return guarded(address_, [&]() -> Result<std::string> {
    RESPOOL_TRY(auto request, make_request(address_, credentials_, http::verb::post, target));
    request.set(http::field::accept, "application/json");
    request.set(http::field::content_type, "application/json");
    request.body() = json_body;
    request.prepare_payload();
    return ask(address_, request, timeout_);
  });
}

Result<OpenCodeClient::StreamEnd> OpenCodeClient::stream(
    const std::string& target,
    std::chrono::milliseconds idle,
    const std::atomic<bool>* stop,
    const std::function<Result<void>(std::string_view)>& on_bytes,
    const std::function<Result<void>()>& on_open) const {
  return guarded(address_, [&]() -> Result<StreamEnd> {
    RESPOOL_TRY(auto request, make_request(address_, credentials_, http::verb::get, target));
    request.set(http::field::accept, "text/event-stream");
    Exchange exchange(address_, request, stop);
    exchange.limit_body(boost::none);
    const auto opened = exchange.open(timeout_);
    if (opened.has_error()) {
      if (opened.error().code() == ErrorCode::Interrupted) return StreamEnd::Stopped;
      return opened.error();
    }
    RESPOOL_TRY(exchange.check_head("text/event-stream"));
    if (on_open) {
      RESPOOL_TRY(on_open());
    }
    while (true) {
      const Piece piece = exchange.read_some(idle);
      if (!piece.bytes.empty()) {
        RESPOOL_TRY(on_bytes(piece.bytes));
      }
      switch (piece.state) {
        case Piece::State::More:
          break;
        case Piece::State::Done:
          return StreamEnd::ServerEnded;
        case Piece::State::Broken:
          return StreamEnd::Broken;
        case Piece::State::TimedOut:
          return StreamEnd::Idle;
        case Piece::State::Stopped:
          return StreamEnd::Stopped;
      }
    }
  });
}

}  // namespace respool
