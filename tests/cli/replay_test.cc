#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "tests/cli/home.h"
#include "tests/support/fake_opencode.h"
#include "tests/support/small_export.h"

namespace respool::test {
namespace {

// Put together here, so that nobody takes it for a real one.
const std::string kKey = std::string("ghp_") + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8";

// A home whose store knows one session of these turns.
class FilledHome : public Home {
 public:
  explicit FilledHome(const std::vector<SmallTurn>& turns) {
    const auto taken = run({"ingest", "-"}, small_export("/w", turns));
    INFO(taken.err);
    REQUIRE(taken.exit_code == 0);
  }
};

std::string mask_rule(const std::string& pattern) {
  return fmt::format(R"({{"replay":{{"mask":[{{"kind":"ticket","pattern":"{}"}}]}}}})", pattern);
}

}  // namespace

TEST_CASE("secrets are masked unless the user says otherwise, and counted", "[cli][replay]") {
  const FilledHome home({{0, "The token is " + kKey + ", keep it.", "Kept: " + kKey}});

  const auto masked = home.run({"replay", kSmallSession, "--json"});
  CHECK(masked.out.find(kKey) == std::string::npos);
  CHECK(masked.out.find("secret:github#1") != std::string::npos);
  CHECK(masked.out.find("\"masked\":[{\"kind\":\"github\",\"count\":2}]") != std::string::npos);
  CHECK(home.run({"replay", kSmallSession, "--format", "markdown"}).out.find(kKey) ==
        std::string::npos);
  const auto plain = home.run({"replay", kSmallSession, "--no-mask"});
  CHECK(plain.out.find(kKey) != std::string::npos);
}

TEST_CASE("a rule of the user's masks too, and a bad one is named", "[cli][replay]") {
  const FilledHome home({{0, "See TICKET-12345678 first.", "Seen."}});
  fs::create_directories(home.path() / ".config/respool");
  const auto config = home.path() / ".config/respool/config.json";

  write_file(config, mask_rule("TICKET-([0-9]{8})"));
  const auto masked = home.run({"replay", kSmallSession});
  CHECK(masked.out.find("12345678") == std::string::npos);
  CHECK(masked.out.find("TICKET-") != std::string::npos);
  CHECK(masked.out.find("secret:ticket#1") != std::string::npos);

  write_file(config, mask_rule("TICKET-(["));
  const auto refused = home.run({"replay", kSmallSession});
  CHECK(refused.exit_code == 2);
  CHECK(refused.out.empty());
  CHECK(refused.err.find("ticket") != std::string::npos);
}

TEST_CASE("Markdown reads like a transcript, and nothing in it breaks out", "[cli][replay]") {
  const FilledHome home({{0, "# Not a heading\n</details><script>x</script>", "```sh\nls <dir>\n"},
                         {1, "Go on.", "Done."}});

  const auto shown = home.run({"replay", kSmallSession, "--format", "markdown"});

  CHECK(shown.exit_code == 0);
  CHECK(shown.out.starts_with("# The number\n"));
  CHECK(shown.out.find("\n## User, 2026-") != std::string::npos);
  CHECK(shown.out.find("\n## Assistant, 2026-") != std::string::npos);
  CHECK(shown.out.find("> **Not a heading**\n> &lt;/details>&lt;script>") != std::string::npos);
  CHECK(shown.out.find("```sh\nls <dir>\n```\n") != std::string::npos);
  const auto before = home.run(
      {"replay", kSmallSession, "--format", "markdown", "--before", small_message(1, false)});
  CHECK(before.out.find("Go on.") == std::string::npos);
}

TEST_CASE("the JSON of a replay says where everything comes from", "[cli][replay]") {
  const FilledHome home({{0, "One.", "Two."}, {1, "Three.", "Four."}});

  const auto replay = home.run({"replay", kSmallSession, "--json", "--dir", home.path().string()});

  CHECK(replay.exit_code == 0);
  CHECK(json_field(replay.out, "schema") == "respool.replay/1");
  CHECK(json_field(replay.out, "session") == kSmallSession);
  CHECK(json_field(replay.out, "directory") == "/w");
  CHECK(json_field(replay.out, "replay_id").size() == 64);
  CHECK(json_field(replay.out, "budget_from").find("p/m") != std::string::npos);
  for (const int turn : {0, 1}) {
    CHECK(replay.out.find("\"" + small_message(turn, false) + "\"") != std::string::npos);
    CHECK(replay.out.find("{\"message\":\"" + small_message(turn, true) +
                          "\",\"as\":\"verbatim\"}") != std::string::npos);
  }
  CHECK(replay.out.find("\"left_out\":[]") != std::string::npos);
  const std::string text = json_field(replay.out, "text");
  CHECK(text.find("it goes on in\n| " + fs::canonical(home.path()).string() +
                  " on the host here\n") != std::string::npos);
}

}  // namespace respool::test
