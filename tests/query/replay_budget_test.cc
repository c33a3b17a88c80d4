#include <algorithm>

#include <catch2/catch.hpp>

#include "schema/opencode/utf8.h"

#include "query/replay/prefix.h"

#include "tests/support/small_export.h"
#include "tests/support/temp_store.h"
#include "tests/support/texts.h"
#include "tests/support/tokenizers.h"

namespace respool::test {
namespace {

constexpr std::size_t kSessionBytes = 10'000'000;

// About `size` bytes from somewhere in one of the texts.
std::string cut_from(const std::vector<TextSample>& texts, TextGenerator& make, std::size_t size) {
  const std::string& text = texts[make.below(texts.size())].text;
  const std::size_t from = utf8_boundary(text, make.below(text.size()));
  const auto rest = std::string_view(text).substr(from);
  return "#" + std::string(rest.substr(0, utf8_boundary(rest, std::min(size, rest.size()))));
}

// Long tool outputs, answers and prompts of every kind; the last turn is short.
std::vector<SmallTurn> long_session() {
  const auto texts = texts_of_all_kinds();
  TextGenerator make(7);
  std::vector<SmallTurn> turns;
  std::size_t bytes = 0;
  while (bytes < kSessionBytes) {
    SmallTurn turn{.number = static_cast<int>(turns.size()),
                   .prompt = cut_from(texts, make, 1 + make.below(2000)),
                   .answer = cut_from(texts, make, 1 + make.below(6000)),
                   .output = cut_from(texts, make, 1 + make.below(100'000))};
    bytes += turn.prompt.size() + turn.answer.size() + turn.output.size();
    turns.push_back(std::move(turn));
  }
  turns.push_back({.number = static_cast<int>(turns.size()),
                   .prompt = "So which of the two is it?",
                   .answer = "The second: see the log above."});
  return turns;
}

}  // namespace

TEST_CASE("a long session fits any budget by real tokenizers, the newest kept", "[query][replay]") {
  const auto turns = long_session();
  TempStore store;
  store.ingest(small_export("/work/project", turns));
  const auto transcript = value(read_transcript(store.reader(), store.number(kSmallSession), {}));
  REQUIRE(transcript.items.size() >= 3 * turns.size() - 1);

  std::vector<std::string> rendered;
  for (const std::uint64_t budget : {4'000U, 32'000U, 128'000U}) {
    INFO("budget " << budget);
    const auto replay = render_replay(transcript, {.budget_tokens = budget});
    CHECK(replay.estimated_tokens <= budget);
    CHECK(replay.estimated_tokens * 4 >= budget * 3);
    CHECK(replay.text.find("| " + turns.back().prompt + "\n") != std::string::npos);
    CHECK(replay.text.find("| " + turns.back().answer + "\n") != std::string::npos);
    REQUIRE(replay.shown.size() >= 2);
    const auto& oldest_shown = replay.shown.front().message;
    for (const auto& left_out : replay.left_out)
      if (left_out.reason == "budget") CHECK(left_out.what < oldest_shown);
    CHECK(replay.shown.size() + static_cast<std::size_t>(std::count_if(replay.left_out.begin(),
                                                                       replay.left_out.end(),
                                                                       [](const auto& left_out) {
                                                                         return left_out.reason ==
                                                                                "budget";
                                                                       })) ==
          2 * turns.size());
    rendered.push_back(replay.text);
  }

  const auto real = real_tokens(rendered);
  CHECK(real[0] <= 4'000);
  CHECK(real[1] <= 32'000);
  CHECK(real[2] <= 128'000);
}

}  // namespace respool::test
