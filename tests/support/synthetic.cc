#include "tests/support/synthetic.h"

#include <array>

#include <fmt/format.h>

#include "schema/money.h"

namespace respool::test {
namespace {

// Moments where days have 23 or 25 hours somewhere: Lord Howe (half an hour), Berlin, New York.
constexpr auto kEdges = std::to_array<std::int64_t>({
    1775314800000,  // 2026-04-04T15:00Z: Lord Howe goes back half an hour
    1791041400000,  // 2026-10-03T15:30Z: Lord Howe goes forward half an hour
    1774746000000,  // 2026-03-29T01:00Z: Berlin goes forward
    1792890000000,  // 2026-10-25T01:00Z: Berlin goes back
    1772953200000,  // 2026-03-08T07:00Z: New York goes forward
    1793512800000,  // 2026-11-01T06:00Z: New York goes back
});

std::int64_t pick_time(std::mt19937& random) {
  constexpr std::int64_t kBegin = 1764547200000;  // 2025-12-01
  constexpr std::int64_t kSpan = 34'560'000'000;  // 400 days
  constexpr std::int64_t kNear = 3 * 86'400'000;
  if (random() % 2 == 0) {
    return kEdges[random() % kEdges.size()] - kNear / 2 +
           static_cast<std::int64_t>(random() % kNear);
  }
  return kBegin + static_cast<std::int64_t>(random()) % kSpan +
         (static_cast<std::int64_t>(random() % 8) * 4'294'967'296) % kSpan;
}

std::string message_json(const StepOracle& step, std::size_t index) {
  const auto& usage = step.usage;
  const std::string tokens =
      fmt::format(R"({{"input":{},"output":{},"reasoning":{},"cache":{{"read":{},"write":{}}}}})",
                  usage.input,
                  usage.output,
                  usage.reasoning,
                  usage.cache_read,
                  usage.cache_write);
  return fmt::format(
      R"({{"info":{{"id":"{0}","sessionID":"{1}","role":"assistant","parentID":"msg_u","modelID":"{2}","providerID":"{3}","agent":"{4}","mode":"{4}","cost":{5},"tokens":{6},"time":{{"created":{7},"completed":{8}}},"finish":"stop"}},)"
      R"("parts":[{{"id":"prt_{9}_{1}","messageID":"{0}","sessionID":"{1}","type":"step-finish","reason":"stop","cost":{5},"tokens":{6}}}]}})",
      step.message,
      step.session,
      step.model,
      step.provider,
      step.agent,
      nanos_to_decimal(usage.cost_nanos),
      tokens,
      step.created,
      step.completed,
      index);
}

}  // namespace

SyntheticHistory make_history(unsigned seed, std::size_t sessions, std::size_t steps_each) {
  constexpr auto kModels = std::to_array<std::string_view>({"small", "large", "huge"});
  constexpr auto kProviders = std::to_array<std::string_view>({"alpha", "beta"});
  constexpr auto kAgents = std::to_array<std::string_view>({"build", "plan", "explore"});
  std::mt19937 random(seed);
  SyntheticHistory history;
  for (std::size_t s = 0; s < sessions; ++s) {
    std::string messages;
    std::int64_t created = INT64_MAX;
    const std::string session = fmt::format("ses_synthetic_{}", s);
    for (std::size_t i = 0; i < steps_each; ++i) {
      StepOracle step;
      step.session = session;
      step.message = fmt::format("msg_{}_{}", s, i);
      step.model = kModels[random() % kModels.size()];
      step.provider = kProviders[random() % kProviders.size()];
      step.agent = kAgents[random() % kAgents.size()];
      step.created = pick_time(random);
      step.completed = step.created + 1000 + static_cast<std::int64_t>(i);
      step.usage.steps = 1;
      step.usage.input = random() % 10'000;
      step.usage.output = random() % 1000 + 1;
      step.usage.reasoning = random() % 100;
      step.usage.cache_read = random() % 50'000;
      step.usage.cache_write = random() % 100;
      step.usage.cost_nanos = random() % 100'000'000;
      created = std::min(created, step.created - 1);
      if (!messages.empty()) messages.push_back(',');
      messages += message_json(step, i);
      history.steps.push_back(step);
    }
    history.exports.push_back(fmt::format(
        R"({{"info":{{"id":"{}","title":"synthetic {}","directory":"/srv/{}","projectID":"p{}","version":"1.18.33","time":{{"created":{},"updated":{}}}}},"messages":[{}]}})",
        session,
        s,
        s % 3,
        s % 2,
        created,
        created + 1,
        messages));
  }
  return history;
}

}  // namespace respool::test
