#include "bench/corpus/make_corpus.h"

#include <array>
#include <random>

#include <fmt/format.h>

#include "schema/opencode/id_time.h"

namespace respool::bench {
namespace {

constexpr std::int64_t kBegin = 1'796'000'000'000;

// A size class: how often out of 10,000, and between how many bytes.
struct SizeClass {
  unsigned weight;
  std::size_t least;
  std::size_t most;
};
constexpr auto kSizes = std::to_array<SizeClass>({
    {6200, 10, 150},
    {2300, 150, 1500},
    {1000, 1500, 10'000},
    {395, 10'000, 80'000},
    {103, 80'000, 300'000},
    {2, 1'000'000, 4'000'000},
});

class Maker {
 public:
  explicit Maker(unsigned seed) : random_(seed) {}

  std::vector<std::string> make(std::size_t count) {
    while (events_.size() < count)
      turn();
    events_.resize(count);
    return std::move(events_);
  }

 private:
  std::string id(std::string_view prefix) {
    time_ += 1 + static_cast<std::int64_t>(random_() % 40);
    std::uint64_t bits = id_bits_at(time_, 1);
    if (prefix == "ses") bits = ~bits & ((std::uint64_t{1} << 48) - 1);
    return fmt::format("{}_{:012x}{:014}", prefix, bits, random_() % 100'000'000);
  }

  // Words of source code and prose, which repeat each other about as much as real ones do.
  std::string text() {
    constexpr auto kWords = std::to_array<std::string_view>({"the",
                                                             "order",
                                                             "return",
                                                             "const",
                                                             "stock",
                                                             "below",
                                                             "function",
                                                             "level",
                                                             "if",
                                                             "supplier",
                                                             "price",
                                                             "module",
                                                             "checks",
                                                             "value",
                                                             "=>",
                                                             "test"});
    std::size_t pick = random_() % 10'000;
    std::size_t size = 0;
    for (const auto& each : kSizes) {
      if (pick < each.weight) {
        size = each.least + random_() % (each.most - each.least);
        break;
      }
      pick -= each.weight;
    }
    std::string made;
    while (made.size() < size) {
      made += kWords[random_() % kWords.size()];
      made += random_() % 9 == 0 ? "\\n  " : " ";
      if (random_() % 12 == 0) made += fmt::format("{:x} ", random_());
    }
    return made;
  }

  void emit(std::string_view type, const std::string& properties) {
    events_.push_back(
        fmt::format(R"({{"id":"{}","type":"{}","properties":{{"sessionID":"{}",{}}}}})",
                    id("evt"),
                    type,
                    session_,
                    properties));
  }

  void part(const std::string& message, const std::string& part_id, const std::string& body) {
    emit("message.part.updated",
         fmt::format(R"("part":{{"id":"{}","messageID":"{}","sessionID":"{}",{}}},"time":{})",
                     part_id,
                     message,
                     session_,
                     body,
                     time_));
  }

  void message(const std::string& message_id, const std::string& body) {
    emit("message.updated",
         fmt::format(R"("info":{{"id":"{}","sessionID":"{}",{}}})", message_id, session_, body));
  }

  void start_session() {
    session_ = id("ses");
    turns_left_ = 3 + random_() % 20;
    emit(
        "session.created",
        fmt::format(
            R"("info":{{"id":"{}","projectID":"p{}","directory":"/srv/shop","title":"Session {}","version":"1.18.33","time":{{"created":{},"updated":{}}}}})",
            session_,
            random_() % 4,
            random_() % 1000,
            time_,
            time_));
  }

  void turn() {
    if (turns_left_ == 0) start_session();
    --turns_left_;
    const std::string prompt = id("msg");
    message(
        prompt,
        fmt::format(
            R"("role":"user","time":{{"created":{}}},"agent":"build","model":{{"providerID":"alpha","modelID":"large"}})",
            time_));
    part(prompt, id("prt"), fmt::format(R"("type":"text","text":"{}")", text()));
    emit("session.status", R"("status":{"type":"busy"})");
    const std::size_t steps = 1 + random_() % 5;
    for (std::size_t i = 0; i < steps; ++i)
      step(prompt, i + 1 == steps);
    emit("session.idle", R"("x":0)");
  }

  void step(const std::string& prompt, bool last) {
    const std::string answer = id("msg");
    const std::int64_t created = time_;
    const auto info = [&](const std::string& end) {
      message(
          answer,
          fmt::format(
              R"("role":"assistant","parentID":"{}","modelID":"large","providerID":"alpha","mode":"build","agent":"build","cost":0.0042,"tokens":{{"input":{},"output":{},"reasoning":0,"cache":{{"read":{},"write":0}}}},"time":{{"created":{}{}}})",
              prompt,
              500 + random_() % 9000,
              random_() % 900,
              random_() % 50'000,
              created,
              end));
    };
    info("");
    const std::string said = id("prt");
    part(answer, said, fmt::format(R"("type":"text","text":"","time":{{"start":{}}})", time_));
    const std::int64_t began = time_;
    for (std::size_t i = random_() % 6; i > 0; --i) {
      emit("message.part.delta",
           fmt::format(R"("messageID":"{}","partID":"{}","field":"text","delta":"order value")",
                       answer,
                       said));
    }
    part(answer,
         said,
         fmt::format(
             R"("type":"text","text":"{}","time":{{"start":{},"end":{}}})", text(), began, time_));
    if (!last) tool(answer);
    part(
        answer,
        id("prt"),
        fmt::format(
            R"("type":"step-finish","reason":"{}","cost":0.0042,"tokens":{{"input":{},"output":{},"reasoning":0,"cache":{{"read":{},"write":0}}}})",
            last ? "stop" : "tool-calls",
            500 + random_() % 9000,
            random_() % 900,
            random_() % 50'000));
    info(fmt::format(R"(,"completed":{})", time_));
  }

  void tool(const std::string& answer) {
    const std::string call = id("prt");
    const std::string head =
        fmt::format(R"("type":"tool","tool":"bash","callID":"call_{}","state":{{)", random_());
    part(answer, call, head + R"("status":"pending","input":{},"raw":""})");
    const std::int64_t start = time_;
    const std::string input = R"("input":{"command":"npm test","description":"run the tests"})";
    part(answer,
         call,
         fmt::format(R"({}"status":"running",{},"time":{{"start":{}}}}})", head, input, start));
    part(
        answer,
        call,
        fmt::format(
            R"({}"status":"completed",{},"output":"{}","title":"npm test","metadata":{{"exit":0}},"time":{{"start":{},"end":{}}}}})",
            head,
            input,
            text(),
            start,
            time_));
  }

  std::mt19937 random_;
  std::vector<std::string> events_;
  std::int64_t time_ = kBegin;
  std::string session_;
  std::size_t turns_left_ = 0;
};

}  // namespace

std::vector<std::string> make_events(unsigned seed, std::size_t count) {
  return Maker(seed).make(count);
}

}  // namespace respool::bench
