#include <random>

#include <catch2/catch.hpp>

#include "query/views/gap_view.h"

#include "tests/support/temp_store.h"

namespace respool::test {
namespace {

std::string text_line(const std::string& session,
                      const std::string& part,
                      const std::string& text) {
  return R"({"type":"text","timestamp":1796071385023,"sessionID":")" + session +
         R"(","part":{"id":")" + part + R"(","messageID":"msg_1","sessionID":")" + session +
         R"(","type":"text","text":")" + text +
         R"(","time":{"start":1796071385000,"end":1796071385001}}})";
}

// Everything a capture can suffer, around five good lines.
std::string dirty_bytes() {
  std::string bytes =
      "\xEF\xBB\xBF" + text_line("ses_1", "prt_bom", "after a byte order mark") + "\r\n";
  bytes += "npm warn deprecated something@1.0.0\n";
  bytes += "\x1b[31m! red words\x1b[0m\n\n";
  bytes += text_line("ses_1", "prt_2", "fine") + "\n";
  bytes += R"({"type":"text","timestamp":1796071385023,"sessionID":"ses_1","part":{"id":"prt_ha)"
           "\n";
  bytes += std::string(512, '\0') + text_line("ses_1", "prt_3", "after zeros") + "\n";
  bytes += R"({"type":"brand_new","timestamp":1796071385023,"sessionID":"ses_1","extra":1})"
           "\n";
  bytes += text_line("../../x", "prt_4", "escape") + "\n";
  bytes += text_line("ses:with:colons", "prt_5", "colons are fine") + "\n";
  bytes += text_line("ses_1", "prt_6", "tab\tinside") + "\n";
  bytes += text_line("ses_1", "prt_7", "bad \xFF utf-8") + "\n";
  bytes +=
      R"({"type":"text","timestamp":1796071385023,"sessionID":"ses_1","part":{"id":"prt_8","messageID":"msg_1","sessionID":"ses_2","type":"text","text":"two sessions"}})"
      "\n";
  bytes += R"({"type":"text","timestamp":1796071385023,"sessionID":"ses_1",)"
           "\n";
  bytes += text_line("ses_1", "prt_9", "after a line cut between fields") + "\n";
  bytes += R"({"type":"text","timestamp":1796071385023,"sessionID":"ses_1","part":{"id":"prt_end")";
  return bytes;
}

std::vector<GapLine> gaps_of(const TempStore& store) {
  return value(list_gaps(store.reader(), {}, ""));
}

std::size_t count_gaps(const std::vector<GapLine>& gaps, GapKind kind) {
  return static_cast<std::size_t>(std::count_if(
      gaps.begin(), gaps.end(), [&](const auto& line) { return line.gap.kind == kind; }));
}

}  // namespace

TEST_CASE("from dirty input everything readable is kept and each problem is listed with its place",
          "[ingest][gaps]") {
  TempStore store;

  const auto counts = store.ingest(dirty_bytes(), "dirty.ndjson");

  CHECK(damage_of(store.store()).empty());
  const auto facts = store.facts("ses_1");
  for (const auto* part : {"prt_bom", "prt_2", "prt_3", "prt_6", "prt_7", "prt_9"}) {
    INFO(part);
    CHECK(facts.messages.at("msg_1").parts.count(part) == 1);
  }
  CHECK(facts.messages.at("msg_1").parts.count("prt_8") == 0);
  CHECK(store.facts("ses:with:colons").messages.at("msg_1").parts.count("prt_5") == 1);
  CHECK(store.session_ids() == std::vector<std::string>{"ses:with:colons", "ses_1"});
  CHECK(counts.malformed > 0);
  CHECK_FALSE(counts.first_damage.empty());
  const auto gaps = gaps_of(store);
  CHECK(count_gaps(gaps, GapKind::Malformed) >= 5);
  CHECK(count_gaps(gaps, GapKind::IdentityMismatch) == 2);
  CHECK(count_gaps(gaps, GapKind::UnknownType) == 1);
  for (const auto& line : gaps) {
    if (line.gap.kind == GapKind::Malformed)
      CHECK(line.gap.where.starts_with("dirty.ndjson byte "));
  }
}

TEST_CASE("dirty input is kept byte for byte", "[ingest]") {
  TempStore store;
  const std::string bytes = dirty_bytes();

  store.ingest(bytes);

  std::string kept;
  for (const auto& raw : store.raw_events())
    kept += raw;
  std::string expected = bytes;
  std::erase_if(expected, [](char c) { return c == '\n' || c == '\r'; });
  std::erase_if(kept, [](char c) { return c == '\n' || c == '\r'; });
  CHECK((kept == expected));
}

TEST_CASE("the same bytes in any pieces give the same log", "[ingest]") {
  std::vector<std::string> inputs = {
      dirty_bytes(),
      read_file(data_path("captures/1.18.33/store/export-plain.json")),
      "Exporting session: ses_x\n" +
          read_file(data_path("captures/1.18.33/store/export-plain.json")),
      read_file(data_path("captures/1.18.33/serve/command/event.sse"))};
  for (const auto& bytes : inputs) {
    TempStore at_once;
    at_once.ingest(bytes, "same");
    for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, std::size_t{4096}}) {
      INFO("pieces of " << piece);
      TempStore pieces;

      pieces.ingest(bytes, "same", piece);

      CHECK((pieces.raw_events() == at_once.raw_events()));
      CHECK((dump_model(pieces.reader()) == dump_model(at_once.reader())));
    }
  }
}

TEST_CASE("an export behind its banner is whole and undamaged", "[ingest]") {
  const std::string bytes = read_file(data_path("captures/1.18.33/store/export-plain.json"));
  TempStore plain;
  plain.ingest(bytes);
  TempStore store;

  const auto counts = store.ingest("Exporting session: ses_x\n" + bytes);

  CHECK(counts.malformed == 0);
  CHECK((dump_model(store.reader()) == dump_model(plain.reader())));
}

TEST_CASE("an export cut short keeps every whole object and says where it breaks off",
          "[ingest][gaps]") {
  const std::string bytes = read_file(data_path("captures/1.18.33/store/export-tools.json"));
  TempStore whole;
  whole.ingest(bytes);
  const std::size_t all_parts = whole.raw_events().size();
  for (const std::size_t tenth : {1, 3, 5, 7, 9}) {
    INFO(tenth << " tenths");
    TempStore store;

    const auto counts = store.ingest(bytes.substr(0, bytes.size() * tenth / 10));

    CHECK(counts.malformed == 1);
    CHECK(counts.first_damage.find("breaks off") != std::string::npos);
    CHECK(store.raw_events().size() < all_parts);
    CHECK(store.raw_events().size() > 1);
    CHECK(count_gaps(gaps_of(store), GapKind::Truncated) == 1);
    CHECK(damage_of(store.store()).empty());
  }
}

TEST_CASE("unknown parts, statuses and reasons are kept and listed", "[ingest][gaps]") {
  std::string bytes =
      R"({"type":"tool_use","timestamp":1796071385023,"sessionID":"ses_1","part":{"id":"prt_1","messageID":"msg_1","sessionID":"ses_1","type":"tool","tool":"bash","callID":"c","state":{"status":"weird"}}})"
      "\n";
  bytes +=
      R"({"id":"evt_22e26ca2a001QgmAC7a1idbZFx","type":"message.part.updated","properties":{"sessionID":"ses_1","part":{"id":"prt_2","messageID":"msg_1","sessionID":"ses_1","type":"hologram"}}})"
      "\n";
  bytes +=
      R"({"type":"step_finish","timestamp":1796071385023,"sessionID":"ses_1","part":{"id":"prt_3","messageID":"msg_1","sessionID":"ses_1","type":"step-finish","reason":"stop","cost":-1,"tokens":{"input":true,"output":"5","reasoning":1e99,"cache":{"read":1,"write":2}}}})"
      "\n";
  TempStore store;

  const auto counts = store.ingest(bytes);

  CHECK(counts.appended == 3);
  CHECK(count_gaps(gaps_of(store), GapKind::UnknownVariant) == 3);
  const auto facts = store.facts("ses_1");
  const auto& step = facts.messages.at("msg_1").parts.at("prt_3");
  CHECK(step.tokens.input() == 0);
  CHECK(step.tokens.cache_read() == 1);
  CHECK_FALSE(step.cost_nanos.has_value());
}

TEST_CASE("a line of 80 MiB and an event of 200 MiB are kept whole and reported",
          "[ingest][large]") {
  TempDir dir;
  const std::string good = text_line("ses_1", "prt_good", "fine");
  const std::string front =
      R"({"type":"text","timestamp":1796071385023,"sessionID":"ses_1","part":{"id":"prt_big","text":")";
  std::string bytes = good + "\n" + front + std::string(80ULL << 20, 'a') + "\"}}\n";
  bytes += front + std::string(200ULL << 20, 'b') + "\"}}\n" +
           text_line("ses_1", "prt_last", "fine too") + "\n";
  TempStore store;

  const auto counts = store.ingest(bytes, "large.ndjson", 1 << 20);

  CHECK(counts.appended == 4);
  CHECK(counts.malformed == 2);
  CHECK(count_gaps(gaps_of(store), GapKind::Malformed) == 2);
  const auto facts = store.facts("ses_1");
  CHECK(facts.messages.at("msg_1").parts.count("prt_last") == 1);
  std::string expected = bytes;
  const auto events = store.raw_events();
  std::string kept;
  for (const auto& event : events)
    kept += event + "\n";
  CHECK((kept == expected));
}

TEST_CASE("what is read at ingest is what a later fold reads, also from the unreadable",
          "[ingest][integrity]") {
  TempStore store;
  auto options = test_options();
  options.host = "my laptop";
  std::string bytes = R"({"aggregate_id":"ses_abc","seq":5,"y":})"
                      "\n";
  bytes +=
      R"([{"info":{"id":"msg_1","role":"user","time":{"created":1796071385023}},"parts":[{"id":"prt_1","messageID":"msg_1","type":"text","text":"no session named"}]}])"
      "\n";
  bytes += R"({"type":"text","timestamp":"soon","sessionID":7,"part":[]})"
           "\n{}\n[]\n[1,{}]\n{\"info\":{}}\n{\"messages\":[]}\n\"text\"\n";

  store.ingest_with(bytes, options);

  CHECK(damage_of(store.store()) == "");
}

TEST_CASE("no random damage to a capture makes ingest and a later fold disagree",
          "[ingest][integrity][property]") {
  const unsigned seed = 31;
  std::mt19937 random(seed);
  for (const auto* name : {"captures/1.18.33/serve/revert/global-event.sse",
                           "captures/1.18.33/store/export-tools.json",
                           "captures/1.18.33/run/tool-parallel.ndjson"}) {
    const std::string whole = read_file(data_path(name));
    for (int round = 0; round < 15; ++round) {
      INFO(name << " seed " << seed << " round " << round);
      std::string bytes = whole;
      for (int i = 0; i < 20; ++i)
        bytes[random() % bytes.size()] = static_cast<char>(random());
      for (int i = 0; i < 3; ++i)
        bytes.erase(random() % bytes.size(), random() % 200);
      TempStore store;

      store.ingest(bytes);

      CHECK(damage_of(store.store()) == "");
    }
  }
}

TEST_CASE("ids that cannot be one are listed, and take nothing down with them", "[ingest][gaps]") {
  TempStore store;
  const auto line = [](const std::string& message, const std::string& part) {
    return R"({"type":"text","timestamp":1796071385023,"sessionID":"ses_1","part":{"id":")" + part +
           R"(","messageID":")" + message +
           R"(","sessionID":"ses_1","type":"text","text":"hi"}})"
           "\n";
  };

  store.ingest(line("msg_1", "prt_1") + line(R"(a\u0000b)", "p") + line("a", R"(b\u0000p)") +
               line(std::string(300, 'm'), "prt_2") + line("msg_1", "prt_3"));

  CHECK(store.facts("ses_1").messages.at("msg_1").parts.size() == 2);
  CHECK(count_gaps(gaps_of(store), GapKind::UnknownVariant) == 1);
  CHECK(damage_of(store.store()) == "");
}

TEST_CASE("envelopes nested without end are kept, not followed", "[ingest][gaps]") {
  std::string bytes;
  for (int i = 0; i < 20'000; ++i)
    bytes += R"({"payload":)";
  bytes += R"({"type":"server.connected"})" + std::string(20'000, '}') + "\n" +
           text_line("ses_1", "prt_1", "after") + "\n";
  TempStore store;

  const auto counts = store.ingest(bytes);

  CHECK(counts.appended == 2);
  CHECK(counts.malformed == 1);
  CHECK(store.facts("ses_1").messages.at("msg_1").parts.count("prt_1") == 1);
}

TEST_CASE("a stray line swallows nothing of what follows", "[ingest]") {
  const std::string run = read_file(data_path("captures/1.18.33/run/tool-multi-step-fix.ndjson"));
  const std::string sse = read_file(data_path("captures/1.18.33/serve/tools-edit/event.sse"));
  for (const auto& whole : {run, sse}) {
    const auto lines = delivered_lines(whole);
    for (const std::string stray : {"[=====>   ",
                                    "[INFO opencode starting",
                                    "[",
                                    "{",
                                    "[{",
                                    R"({"a":)",
                                    R"({"type":"text","part":{"id":)",
                                    R"([{"id":"x"},)",
                                    "id: this is a banner",
                                    ": remark"}) {
      INFO(stray);
      TempStore store;

      const auto counts = store.ingest(stray + "\n" + whole);

      std::size_t found = 0;
      const auto events = store.raw_events();
      for (const auto& line : lines)
        found += std::find(events.begin(), events.end(), line) != events.end() ? 1 : 0;
      CHECK(found >= lines.size() - 1);
      CHECK(counts.sessions.size() == 1);
      std::string kept;
      for (const auto& event : events)
        kept += event;
      // Brackets and commas around an array's elements are framing.
      const auto begin = std::min(stray.find_first_not_of('['), stray.size());
      CHECK(kept.find(stray.substr(begin, stray.find_last_not_of(',') + 1 - begin)) !=
            std::string::npos);
      CHECK(damage_of(store.store()) == "");
    }
  }
}

TEST_CASE("an export is known by its keys, however it is laid out", "[ingest]") {
  const std::string info =
      R"({"id":"ses_1","time":{"created":1796071385000,"updated":1796071385009}})";
  const std::string one =
      R"({"info":{"id":"msg_1","sessionID":"ses_1","role":"user","time":{"created":1796071385001}},"parts":[{"id":"prt_1","sessionID":"ses_1","messageID":"msg_1","type":"text","text":"a"}]})";
  const std::string two =
      R"({"info":{"id":"msg_2","sessionID":"ses_1","role":"user","time":{"created":1796071385002}},"parts":[]})";
  for (const std::string& bytes :
       {"{ \"info\":" + info + ",\"messages\":[" + one + "," + two + "]}",
        "{\"version\":1,\"info\":" + info + ",\"messages\":[" + one + "," + two + "]}",
        "{\"messages\":[" + one + "," + two + "],\"info\":" + info + "}",
        "Exporting session: ses_1{\"info\":" + info + ",\"messages\":[" + one + "," + two + "]}",
        "Exporting session: ses_1{\n\"info\":" + info + ",\n\"messages\":[\n" + one + ",\n" + two +
            "\n]\n}\n",
        "{\n\"info\": " + info +
            ",\n\"messages\": [\n{\n\"info\": {\n\"id\": \"msg_1\",\n\"sessionID\": "
            "\"ses_1\",\n\"role\": \"user\",\n\"time\": {\n\"created\": "
            "1796071385001\n}\n},\n\"parts\": [\n{\n\"id\": \"prt_1\",\n\"sessionID\": "
            "\"ses_1\",\n\"messageID\": \"msg_1\",\n\"type\": \"text\",\n\"text\": "
            "\"a\"\n}\n]\n},\n" +
            two + "\n]\n}\n"}) {
    INFO(bytes);
    TempStore store;

    const auto counts = store.ingest(bytes);

    CHECK(counts.malformed == 0);
    REQUIRE(store.session_ids() == std::vector<std::string>{"ses_1"});
    CHECK(store.facts("ses_1").messages.size() == 2);
    CHECK(store.facts("ses_1").messages.at("msg_1").parts.size() == 1);
  }
}

TEST_CASE("objects glued to each other on one line are each a record", "[ingest]") {
  TempStore store;

  store.ingest(text_line("ses_1", "prt_1", "a }{ in a text") + text_line("ses_1", "prt_2", "b") +
               "\n");

  CHECK(store.facts("ses_1").messages.at("msg_1").parts.size() == 2);
  CHECK(store.raw_events().size() == 2);
}

TEST_CASE("a host and a run told later are as good as told at first", "[ingest][order]") {
  const std::string bytes = read_file(data_path("captures/1.18.33/run/tool-bash.ndjson"));
  auto told = test_options();
  told.host = "ci-7";
  told.run = "run-1";
  TempStore first;
  first.ingest_with(bytes, told);
  TempStore later;
  later.ingest(bytes);
  later.ingest_with(bytes, told);
  later.ingest_with(bytes, told);

  const auto session = first.session_ids().front();
  CHECK(later.facts(session).session.host == "ci-7");
  CHECK(dump_facts(later.facts(session)) == dump_facts(first.facts(session)));
  CHECK(later.raw_events().size() == first.raw_events().size() + 1);
}

TEST_CASE("a tool's output that quotes a sanitised export is no sanitised export",
          "[ingest][order]") {
  const auto running =
      R"({"id":"evt_22e26ca2a001QgmAC7a1idbZFx","type":"message.part.updated","properties":{"sessionID":"ses_1","part":{"id":"prt_1","sessionID":"ses_1","messageID":"msg_1","type":"tool","tool":"bash","callID":"c","state":{"status":"running","input":{},"time":{"start":1796070623780}}},"time":1796070623780}})"
      "\n";
  const auto exported =
      R"({"info":{"id":"ses_1","time":{"created":1796070623000,"updated":1796070629000}},"messages":[{"info":{"id":"msg_1","sessionID":"ses_1","role":"assistant","time":{"created":1796070623500}},"parts":[{"id":"prt_1","sessionID":"ses_1","messageID":"msg_1","type":"tool","tool":"bash","callID":"c","state":{"status":"completed","input":{},"output":"{\"text\":\"[redacted:text:prt_1]\"}","title":"","metadata":{},"time":{"start":1796070623780,"end":1796070625000}}}]}]})"
      "\n";
  TempStore store;

  store.ingest(running);
  store.ingest(exported);

  CHECK(store.facts("ses_1").messages.at("msg_1").parts.at("prt_1").status ==
        fb::ToolStatus::Completed);
}

TEST_CASE("one message alone, as its endpoint answers it, joins its session", "[ingest]") {
  TempStore store;

  store.ingest(
      R"({"info":{"id":"msg_1","sessionID":"ses_1","role":"user","time":{"created":1796071385023}},"parts":[{"id":"prt_1","sessionID":"ses_1","messageID":"msg_1","type":"text","text":"hello"}]})");

  CHECK(store.session_ids() == std::vector<std::string>{"ses_1"});
  CHECK(store.facts("ses_1").messages.at("msg_1").parts.count("prt_1") == 1);
}

TEST_CASE("an unknown member of an export is kept under its name and listed", "[ingest][gaps]") {
  TempStore store;

  store.ingest(
      R"({"info":{"id":"ses_1","time":{"created":1,"updated":2}},"share":{"url":"u"},"messages":[]})");

  CHECK(store.raw_events() ==
        std::vector<std::string>{R"({"id":"ses_1","time":{"created":1,"updated":2}})",
                                 R"({"url":"u"})"});
  bool listed = false;
  for (const auto& line : gaps_of(store))
    listed |= line.gap.kind == GapKind::UnknownType && line.gap.detail == "share";
  CHECK(listed);
}

TEST_CASE("a prompt given beside a run stream is its prompt", "[ingest]") {
  TempStore store;
  auto options = test_options();
  options.run = "run-1";
  options.prompt = "Fix the \"threshold\"\nplease";

  store.ingest_with(read_file(data_path("captures/1.18.33/run/text-simple.ndjson")), options);

  const auto facts = store.facts(store.session_ids().front());
  REQUIRE(facts.prompts.size() == 1);
  CHECK(facts.prompts.begin()->second.text_bytes == options.prompt->size());
  REQUIRE(facts.runs.size() == 1);
  CHECK(facts.runs.count("run-1") == 1);
  CHECK(count_gaps(gaps_of(store), GapKind::PromptNotInSource) == 0);
}

}  // namespace respool::test
