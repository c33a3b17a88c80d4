#include <cstdlib>
#include <sstream>

#include <catch2/catch.hpp>
#include <simdjson.h>

#include "tools/command.h"

#include "tests/cli/home.h"

namespace respool::test {
namespace {

// Compares with tests/golden/cli/NAME; RESPOOL_UPDATE_GOLDEN=1 writes it instead.
void check_golden(const std::string& name, const ProcessResult& result) {
  const auto path = fs::path(RESPOOL_SOURCE_DIR) / "tests/golden/cli" / name;
  const std::string text = "exit " + std::to_string(result.exit_code) + "\n--- stdout\n" +
                           result.out + "--- stderr\n" + result.err;
  if (std::getenv("RESPOOL_UPDATE_GOLDEN") != nullptr) {
    fs::create_directories(path.parent_path());
    write_file(path, text);
  }
  INFO(name);
  CHECK(text == read_file(path));
}

bool is_json(const std::string& line) {
  simdjson::dom::parser parser;
  return !parser.parse(line).error();
}

}  // namespace

TEST_CASE("commands print what they always printed", "[cli][golden]") {
  const Home home;
  check_golden("empty-sessions.txt", ProcessResult{home.run({"sessions", "--quiet"})});
  check_golden("ingest.txt", home.run({"ingest", "-"}, read_file(kPlain)));
  check_golden("ingest-again.txt", home.run({"ingest", "-"}, read_file(kPlain)));
  check_golden("sessions.txt", home.run({"sessions"}));
  check_golden("usage.txt", home.run({"usage", "--by", "day,model", "--tz", "Asia/Kathmandu"}));
  check_golden("tools.txt", home.run({"tools"}));
  check_golden("files.txt", home.run({"files"}));
  check_golden("gaps.txt", home.run({"gaps"}));
  check_golden("show.txt", home.run({"show", "@last:any"}));
  check_golden("replay.txt", home.run({"replay", "@last:any", "--budget", "2000"}));
  check_golden("verify.txt", home.run({"verify"}));
  check_golden("no-such-session.txt", home.run({"show", "ses_none"}));
  check_golden("near-miss.txt", home.run({"session"}));
  check_golden("bad-flag.txt", home.run({"usage", "--by", "moon"}));
  check_golden("help.txt", home.run({"--help"}));
  check_golden("help-usage.txt", home.run({"usage", "--help"}));
  check_golden("version.txt", home.run({"--version"}));
}

TEST_CASE("the raw events of every capture come back through the binary after the input is gone",
          "[cli]") {
  const Home home;
  const auto copy = home.path() / "input.sse";
  fs::copy_file(data_path("captures/1.18.33/serve/tools-edit/event.sse"), copy);
  REQUIRE(home.run({"ingest", copy.string()}).exit_code == 0);
  fs::remove(copy);

  const auto raw = home.run({"events", "--raw"});

  CHECK(lines_of(raw.out) ==
        delivered_lines(read_file(data_path("captures/1.18.33/serve/tools-edit/event.sse"))));
}

TEST_CASE("every line of --json is one object with its schema", "[cli]") {
  const Home home;
  for (const auto* file : {"captures/1.18.33/serve/permission-once/event.sse",
                           "captures/1.18.33/serve/subagent/event.sse",
                           "captures/1.18.33/run/denied-bash.ndjson"}) {
    const auto result = home.run({"ingest", data_path(file).string(), "--json"});
    REQUIRE(result.exit_code == 0);
    CHECK(result.out.starts_with("{\"schema\":\"respool.ingest/1\""));
  }
  const std::map<std::string, std::string> schemas = {{"sessions", "session"},
                                                      {"events", "event"},
                                                      {"usage", "usage"},
                                                      {"tools", "tool"},
                                                      {"files", "file"},
                                                      {"permissions", "permission"},
                                                      {"lineage", "lineage"},
                                                      {"gaps", "gap"},
                                                      {"stats", "stats"}};
  for (const auto& [command, schema] : schemas) {
    INFO(command);
    const auto result = home.run({command, "--json"});
    CHECK(result.exit_code == 0);
    const auto lines = lines_of(result.out);
    CHECK_FALSE(lines.empty());
    for (const auto& line : lines) {
      CHECK(is_json(line));
      CHECK(line.starts_with("{\"schema\":\"respool." + schema + "/1\""));
    }
  }
  for (const auto& [command, schema] :
       std::map<std::string, std::string>{{"show", "item"}, {"replay", "replay"}}) {
    const auto result = home.run({command, "@last:any", "--json"});
    CHECK(result.exit_code == 0);
    for (const auto& line : lines_of(result.out))
      CHECK(line.starts_with("{\"schema\":\"respool." + schema + "/1\""));
  }
}

TEST_CASE("errors are JSON where asked, and say what to do next", "[cli]") {
  const Home home;
  home.run({"ingest", kPlain});

  const auto result = home.run({"show", "ses_none", "--json"});

  CHECK(result.exit_code == 3);
  CHECK(result.out.empty());
  CHECK(result.err.starts_with("{\"schema\":\"respool.error/1\",\"code\":\"not_found\""));
  CHECK(result.err.find("\"next\":") != std::string::npos);
  CHECK(is_json(result.err));
}

TEST_CASE("exit codes are as promised", "[cli]") {
  const Home home;
  CHECK(home.run({}).exit_code == 2);
  CHECK(home.run({"nonsense"}).exit_code == 2);
  CHECK(home.run({"usage", "--nonsense"}).exit_code == 2);
  CHECK(home.run({"ingest"}).exit_code == 2);
  CHECK(home.run({"ingest", "/no/such/file"}).exit_code == 3);
  CHECK(home.run({"sessions"}).exit_code == 0);
  CHECK(home.run({"ingest", "-"}, "not json\n").exit_code == 1);
  CHECK(home.run({"ingest", "-"}, "{\"type\":\"brand.new\",\"properties\":{}}\n").exit_code == 0);
  CHECK(home.run({"verify"}).exit_code == 0);
  write_file(home.path() / ".local/share/respool/format", "respool store format 7\n");
  const auto newer = home.run({"sessions"});
  CHECK(newer.exit_code == 4);
  CHECK(newer.err.find("format 7") != std::string::npos);
}

TEST_CASE("damage is found by verify with exit 1, and heads compare across time", "[cli]") {
  const Home home;
  REQUIRE(home.run({"ingest", kPlain}).exit_code == 0);
  const auto report = home.run({"verify", "--report"});
  REQUIRE(report.exit_code == 0);
  write_file(home.path() / "heads.ndjson", report.out);
  REQUIRE(
      home.run({"ingest", data_path("captures/1.18.33/run/tool-bash.ndjson").string()}).exit_code ==
      0);
  CHECK(home.run({"verify", "--against", "heads.ndjson"}).exit_code == 0);
  std::string other = report.out;
  const auto chain = other.find("\"chain\":\"") + 9;
  other[chain] = other[chain] == '0' ? '1' : '0';
  write_file(home.path() / "other.ndjson", other);
  CHECK(home.run({"verify", "--against", "other.ndjson"}).exit_code == 1);

  for (const auto& entry : fs::directory_iterator(home.path() / ".local/share/respool/db")) {
    if (entry.path().extension() != ".sst") continue;
    std::string bytes = read_file(entry.path());
    bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
    write_file(entry.path(), bytes);
    break;
  }

  const auto damaged = home.run({"verify"});
  CHECK(damaged.exit_code == 1);
  CHECK(damaged.out.find(".sst") != std::string::npos);
}

TEST_CASE("a store that is gone is damage, not an empty store", "[cli]") {
  const Home home;
  REQUIRE(home.run({"ingest", kPlain}).exit_code == 0);
  write_file(home.path() / "heads.ndjson", home.run({"verify", "--report"}).out);
  const auto store = home.path() / ".local/share/respool";

  fs::remove_all(store / "db");
  fs::remove(store / "seal");
  CHECK(home.run({"verify"}).exit_code == 1);
  fs::remove_all(store);
  CHECK(home.run({"verify", "--against", "heads.ndjson"}).exit_code == 1);
  CHECK(home.run({"verify"}).exit_code == 0);
}

TEST_CASE("choices that are none are refused", "[cli]") {
  const Home home;
  home.run({"ingest", kPlain});
  CHECK(home.run({"tools", "--outcome", "foo"}).exit_code == 2);
  CHECK(home.run({"sessions", "--state", "foo"}).exit_code == 2);
  CHECK(home.run({"events", "--source", "foo"}).exit_code == 2);
  CHECK(home.run({"usage", "--color", "purple"}).exit_code == 2);
  CHECK(home.run({"events", "--since", "2026-12-31", "--raw"}).out.empty());
  CHECK_FALSE(home.run({"events", "--since", "2026-11-01", "--raw", "--no-drain"}).out.empty());
  CHECK(lines_of(home.run({"usage", "--by", "day,day", "--json"}).out).size() == 2);
}

TEST_CASE("a store that is being written answers writers with who has it", "[cli]") {
  const Home home;
  const auto directory = home.path() / ".local/share/respool";
  const auto owner = value(Store::open(
      {.directory = directory, .host = "elsewhere", .purpose = "long work", .now_ms = kNow},
      Access::Write));

  const auto result = home.run({"ingest", kPlain});

  CHECK(result.exit_code == 3);
  CHECK(result.err.find("elsewhere") != std::string::npos);
  CHECK(home.run({"sessions"}).exit_code == 0);
}

TEST_CASE("replay is the same bytes however the store was filled, within its budget",
          "[cli][replay]") {
  const auto folder = data_path("captures/1.18.33/serve/tools-edit");
  const Home forwards;
  const Home backwards;
  forwards.run({"ingest", (folder / "event.sse").string(), (folder / "messages.0.json").string()});
  backwards.run({"ingest",
                 (folder / "messages.0.json").string(),
                 (folder / "global-event.sse").string(),
                 (folder / "event.sse").string()});

  for (const auto* budget : {"700", "1500", "32000"}) {
    INFO(budget);
    const auto one = forwards.run({"replay", "@last:any", "--budget", budget});
    const auto two = backwards.run({"replay", "@last:any", "--budget", budget});
    CHECK(one.exit_code == 0);
    CHECK(one.out == two.out);
    CHECK(one.out.starts_with("<respool-replay id=\""));
  }
  const auto too_small = forwards.run({"replay", "@last:any", "--budget", "10"});
  CHECK(too_small.exit_code == 1);
  CHECK(too_small.out.empty());
  CHECK(too_small.err.find("--budget") != std::string::npos);
}

TEST_CASE("files a store makes are its owner's alone", "[cli]") {
  const Home home;
  home.run({"ingest", kPlain});
  for (const auto& entry : fs::recursive_directory_iterator(home.path() / ".local/share/respool")) {
    INFO(entry.path().string());
    const auto others = fs::perms::group_all | fs::perms::others_all;
    CHECK((entry.status().permissions() & others) == fs::perms::none);
  }
}

TEST_CASE("on a terminal, control characters of a session stay out", "[cli]") {
  const Home home;
  home.run({"ingest", data_path("captures/1.18.33/run/control-bytes.ndjson").string()});

  const auto shown = home.run({"show", "@last:any"});

  CHECK(shown.exit_code == 0);
  CHECK(shown.out.find('\x1b') == std::string::npos);
  CHECK(shown.out.find('\0') == std::string::npos);
}

TEST_CASE("a folder with other things in it is not taken for a store", "[cli]") {
  const Home home;
  write_file(home.path() / "mine.txt", "mine");
  const auto before = fs::status(home.path()).permissions();

  const auto result = home.run({"ingest", kPlain, "--store", home.path().string()});

  CHECK(result.exit_code == 2);
  CHECK(fs::status(home.path()).permissions() == before);
}

TEST_CASE("a database named to ingest is read by its rows", "[cli]") {
  const Home home;
  write_file(home.path() / "opencode.db", corpus_file("opencode.db"));

  const auto result = home.run({"ingest", "opencode.db"});
  const auto again = home.run({"ingest", "--json", "opencode.db"});

  CHECK(result.exit_code == 0);
  CHECK(again.out.find("\"appended\":0,") != std::string::npos);
  CHECK(lines_of(home.run({"sessions", "--json"}).out).size() == 43);
  CHECK(home.run({"verify"}).exit_code == 0);
}

TEST_CASE("sessions of excluded directories stay out of a sync", "[cli]") {
  const Home home;
  fs::create_directories(home.path() / ".local/share/opencode");
  write_file(home.path() / ".local/share/opencode/opencode.db", corpus_file("opencode.db"));
  home.run({"sync", "--store", "all"});
  const auto all = home.run({"sessions", "--store", "all", "--json"}).out;
  const auto begin = all.find("\"directory\":\"") + 13;
  const std::string directory = all.substr(begin, all.find('"', begin) - begin);
  fs::create_directories(home.path() / ".config/respool");
  write_file(home.path() / ".config/respool/config.json",
             "{\"capture\":{\"exclude\":[\"" + directory + "\"]}}");

  REQUIRE(home.run({"sync"}).exit_code == 0);

  const auto kept = home.run({"sessions", "--json"}).out;
  CHECK(lines_of(kept).size() < lines_of(all).size());
  CHECK(kept.find("\"directory\":\"" + directory + "\"") == std::string::npos);
  CHECK(home.run({"verify"}).exit_code == 0);
}

TEST_CASE("events can embed what was delivered, one line each", "[cli]") {
  const Home home;
  home.run({"ingest", data_path("captures/1.18.33/store/export-tools.json").string()});
  home.run({"ingest", "-"},
           "{\"type\":\"text\",\"timestamp\":1,\"sessionID\":\"ses_1\",\"a\":\"\tb\"}\n");

  const auto result = home.run({"events", "--json", "--embed"});

  for (const auto& line : lines_of(result.out))
    CHECK(is_json(line));
  CHECK(result.out.find("\"raw\":{\"id\":") != std::string::npos);
}

TEST_CASE("flags before the command and bad numbers are understood", "[cli]") {
  const Home home;
  CHECK(home.run({"--store", "elsewhere", "sesions"}).err.find("did you mean \"sessions\"") !=
        std::string::npos);
  CHECK(home.run({"--store", "elsewhere", "sessions", "--help"}).out.starts_with("List sessions"));
  CHECK(home.run({"sessions", "--wait", "abc"}).exit_code == 2);
  CHECK(home.run({"sessions", "--limit", "-1"}).exit_code == 2);
}

TEST_CASE("a branch is what one origin recorded", "[cli]") {
  const Home home;
  home.run({"ingest", kPlain});
  const auto origin = home.run({"stats", "--json"}).out;
  const auto at = origin.find("\"origin\":\"") + 10;

  CHECK(home.run({"show", "@last:any", "--branch", origin.substr(at, 8)}).out ==
        home.run({"show", "@last:any"}).out);
  CHECK(home.run({"show", "@last:any", "--branch", "zz"}).exit_code == 3);
}

TEST_CASE("bench measures a file of the user's and leaves no store behind", "[cli]") {
  const Home home;

  const auto result = home.run({"bench",
                                data_path("captures/1.18.33/serve/tools-edit/event.sse").string(),
                                "--seconds",
                                "0",
                                "--json"});

  CHECK(result.exit_code == 0);
  CHECK(lines_of(result.out).size() == 5);
  CHECK_FALSE(fs::exists(home.path() / ".local/share/respool"));
}

TEST_CASE("every example of every help text names a command and flags that exist", "[cli]") {
  for (const auto& command : all_commands()) {
    CHECK_FALSE(command.examples.empty());
    for (const auto example : command.examples) {
      INFO(example);
      CHECK(example.find("respool " + std::string(command.name)) != std::string_view::npos);
      std::istringstream words{std::string(example)};
      std::string word;
      while (words >> word) {
        if (!word.starts_with("--")) continue;
        CHECK(command_help(command).find(word) != std::string::npos);
      }
    }
  }
}

TEST_CASE("completions and the manual page come from the same table", "[cli]") {
  const Home home;
  for (const auto* shell : {"bash", "zsh", "fish"}) {
    const auto result = home.run({"completions", shell});
    CHECK(result.exit_code == 0);
    CHECK(result.out.find("permissions") != std::string::npos);
  }
  CHECK(home.run({"completions", "tcsh"}).exit_code == 2);
  CHECK(home.run({"man"}).out.starts_with(".TH RESPOOL 1"));
}

}  // namespace respool::test
