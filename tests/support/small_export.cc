#include "tests/support/small_export.h"

#include <fmt/format.h>

#include "schema/opencode/json_text.h"

namespace respool::test {
namespace {

constexpr std::int64_t kBeginMs = 1'796'071'900'000;
constexpr std::uint64_t kIdBits = 0x22e2812c4001;  // the time in an id made at kBeginMs, nearly

std::int64_t time_of(int number) {
  return kBeginMs + number * 1000;
}

std::string id_of(std::string_view prefix, int number, int place) {
  const auto bits = kIdBits + (static_cast<std::uint64_t>(number) * 1000 << 12) +
                    static_cast<std::uint64_t>(place);
  return fmt::format("{}{:012x}aaaaaaaaaaaaaa", prefix, bits);
}

// The command an answer ran, as a part with a comma behind it.
std::string command_json(const SmallTurn& turn) {
  if (turn.output.empty()) return "";
  return fmt::format(
      R"({{"id":"{0}","sessionID":"{1}","messageID":"{2}","type":"tool","callID":"call_{3}","tool":"bash",)"
      R"("state":{{"status":"completed","input":{{"command":"run {3}"}},"output":{4},"title":"run {3}",)"
      R"("metadata":{{"exit":0}},"time":{{"start":{5},"end":{5}}}}}}},)",
      id_of("prt_", turn.number, 2),
      kSmallSession,
      small_message(turn.number, true),
      turn.number,
      json_string(turn.output),
      time_of(turn.number) + 150);
}

std::string turn_json(const fs::path& directory, const SmallTurn& turn) {
  const std::string user = small_message(turn.number, false);
  const std::string assistant = small_message(turn.number, true);
  const std::string prompt = fmt::format(
      R"({{"info":{{"id":"{0}","sessionID":"{1}","role":"user","time":{{"created":{2}}},"agent":"build",)"
      R"("model":{{"providerID":"p","modelID":"m"}}}},"parts":[{{"id":"{3}","sessionID":"{1}",)"
      R"("messageID":"{0}","type":"text","text":{4}}}]}})",
      user,
      kSmallSession,
      time_of(turn.number),
      id_of("prt_", turn.number, 1),
      json_string(turn.prompt));
  const std::string tokens =
      R"("cost":0,"tokens":{"input":10,"output":5,"reasoning":0,"cache":{"read":0,"write":0}})";
  const std::string answer = fmt::format(
      R"({{"info":{{"id":"{0}","sessionID":"{1}","role":"assistant","parentID":"{2}","providerID":"p",)"
      R"("modelID":"m","mode":"build","agent":"build","path":{{"cwd":"{3}","root":"/"}},{4},)"
      R"("finish":"stop","time":{{"created":{5},"completed":{6}}}}},"parts":[{10}{{"id":"{7}","sessionID":"{1}",)"
      R"("messageID":"{0}","type":"text","text":{8},"time":{{"start":{5},"end":{6}}}}},{{"id":"{9}",)"
      R"("sessionID":"{1}","messageID":"{0}","type":"step-finish","reason":"stop",{4}}}]}})",
      assistant,
      kSmallSession,
      user,
      directory.string(),
      tokens,
      time_of(turn.number) + 100,
      time_of(turn.number) + 900,
      id_of("prt_", turn.number, 3),
      json_string(turn.answer),
      id_of("prt_", turn.number, 4),
      command_json(turn));
  return prompt + "," + answer;
}

}  // namespace

std::string small_message(int number, bool answer) {
  return id_of("msg_", number, answer ? 2 : 0);
}

std::string small_export(const fs::path& directory, const std::vector<SmallTurn>& turns) {
  std::string messages;
  for (const auto& turn : turns)
    messages += (messages.empty() ? "" : ",") + turn_json(directory, turn);
  return fmt::format(
      R"({{"info":{{"id":"{0}","directory":"{1}","title":"The number","projectID":"global",)"
      R"("version":"1.18.33","time":{{"created":{2},"updated":{3}}}}},"messages":[{4}]}})",
      kSmallSession,
      directory.string(),
      kBeginMs,
      turns.empty() ? kBeginMs : time_of(turns.back().number) + 900,
      messages);
}

}  // namespace respool::test
