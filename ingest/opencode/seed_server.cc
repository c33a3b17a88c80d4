#include "ingest/opencode/seed_server.h"

#include <condition_variable>
#include <mutex>
#include <thread>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "schema/digest.h"

#include "ingest/process/child_process.h"

namespace respool {
namespace {

namespace json = boost::json;

constexpr std::chrono::milliseconds kStartLimit{60'000};
constexpr std::chrono::milliseconds kAnswerLimit{60'000};

std::string percent_encoded(std::string_view text) {
  std::string encoded;
  for (const char c : text) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                       c == '-' || c == '_' || c == '.' || c == '/';
    if (plain) {
      encoded.push_back(c);
    } else {
      encoded += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return encoded;
}

// A text deep in a JSON value, "" where the way there is another.
std::string text_at(const json::value& value, std::string_view key) {
  const auto* object = value.if_object();
  const auto* field = object == nullptr ? nullptr : object->if_contains(key);
  const auto* text = field == nullptr ? nullptr : field->if_string();
  return text == nullptr ? "" : std::string(*text);
}

Result<json::value> parse(const std::string& answer) {
  std::error_code error;
  json::value value = json::parse(answer, error);
  if (!error) return value;
  return Error(ErrorCode::Io, "the OpenCode server answered with what is no JSON");
}

Result<std::string> make_session(const OpenCodeClient& client, const Seed& seed) {
  const std::string target = "/session?directory=" + percent_encoded(seed.directory);
  RESPOOL_TRY(const auto answer,
              client.post(target, json::serialize(json::object{{"title", seed.title}})));
  RESPOOL_TRY(const auto session, parse(answer));
  const std::string id = text_at(session, "id");
  if (!id.empty()) return id;
  return Error(ErrorCode::Io, "the OpenCode server made a session without an id");
}

// The text that stands in the part now.
std::string seeded_text(const json::value& message, const std::string& part) {
  const auto* object = message.if_object();
  const auto* parts = object == nullptr ? nullptr : object->if_contains("parts");
  if (parts == nullptr || !parts->is_array()) return {};
  for (const auto& entry : parts->get_array()) {
    if (text_at(entry, "id") == part) return text_at(entry, "text");
  }
  return {};
}

// Waits for the line in which the server says where it listens.
class Announcement {
 public:
  void add(std::string_view bytes) {
    constexpr std::string_view kMark = "listening on ";
    const std::lock_guard lock(mutex_);
    if (!url_.empty()) return;
    text_ += bytes;
    const auto begin = text_.find(kMark);
    const auto end = text_.find_first_of(" \r\n", begin + kMark.size());
    if (begin == std::string::npos || end == std::string::npos) return;
    url_ = text_.substr(begin + kMark.size(), end - begin - kMark.size());
    changed_.notify_all();
  }
  void ended() {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    changed_.notify_all();
  }
  // "" where it ended or took too long.
  std::string wait() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kStartLimit, [this] { return !url_.empty() || ended_; });
    return url_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string text_;
  std::string url_;
  bool ended_ = false;
};

Result<std::string> work_with(
    Announcement& announcement,
    const Credentials& credentials,
    const std::function<Result<std::string>(const OpenCodeClient&)>& work) {
  const std::string url = announcement.wait();
  if (url.empty()) return Error(ErrorCode::Io, "opencode serve did not come up");
  RESPOOL_TRY(const auto address, parse_server_url(url));
  return work(OpenCodeClient(address, credentials, kAnswerLimit));
}

}  // namespace

Result<std::string> seed_session(const OpenCodeClient& client, const Seed& seed) {
  std::string session = seed.session;
  if (session.empty()) {
    RESPOOL_TRY(session, make_session(client, seed));
  }
  const std::string target = fmt::format("/session/{}/message", percent_encoded(session));
  const std::string query = "?directory=" + percent_encoded(seed.directory);
  const json::object part{{"id", seed.part}, {"type", "text"}, {"text", seed.text}};
  const json::object body{
      {"messageID", seed.message}, {"noReply", true}, {"parts", json::array{part}}};
  RESPOOL_TRY(client.post(target + query, json::serialize(body)));
  RESPOOL_TRY(const auto answer,
              client.get(fmt::format("{}/{}{}", target, percent_encoded(seed.message), query)));
  RESPOOL_TRY(const auto message, parse(answer));
  if (seeded_text(message, seed.part) == seed.text) return session;
  return Error(
      ErrorCode::Corruption,
      fmt::format("session {}: the text that was put there reads back as another", session));
}

Result<std::string> with_server(
    const ServeRequest& request,
    const std::function<Result<std::string>(const OpenCodeClient&)>& work) {
  constexpr std::size_t kPasswordBytes = 24;
  const Credentials credentials{"opencode", to_hex(random_bytes(kPasswordBytes))};
  ChildCommand command{.program = request.program,
                       .arguments = {"serve", "--hostname", "127.0.0.1", "--port", "0"},
                       .directory = request.directory,
                       .environment = request.environment,
                       .input = {}};
  set_variable(command.environment, "PWD", std::nullopt);
  set_variable(command.environment, "OLDPWD", std::nullopt);
  set_variable(command.environment, "OPENCODE_SERVER_USERNAME", credentials.user);
  set_variable(command.environment, "OPENCODE_SERVER_PASSWORD", credentials.password);
  Announcement announcement;
  std::atomic<bool> done = false;
  Result<std::string> worked = Error(ErrorCode::Io, "opencode serve was not started");
  std::thread worker([&] {
    worked = work_with(announcement, credentials, work);
    done = true;
  });
  const auto interrupted = [&] {
    return request.interrupted != nullptr && request.interrupted->load();
  };
  const ChildEvents events{.on_stdout = [&](std::string_view bytes) { announcement.add(bytes); },
                           .on_stderr = [&](std::string_view bytes) { announcement.add(bytes); },
                           .keep_going = [&] { return !done && !interrupted(); }};
  const auto end = run_guarded(command, events);
  announcement.ended();
  worker.join();
  if (interrupted()) return Error(ErrorCode::Interrupted, "opencode serve was interrupted");
  if (!end) return end.error();
  return worked;
}

}  // namespace respool
