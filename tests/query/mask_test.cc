#include "query/replay/mask.h"

#include <set>

#include <catch2/catch.hpp>

#include "schema/opencode/utf8.h"

#include "tests/query/planted_secrets.h"
#include "tests/support/files.h"

namespace respool::test {
namespace {

Masker masker(const std::vector<MaskRule>& extra = {}) {
  auto made = Masker::make(extra);
  REQUIRE(made.has_value());
  return std::move(made.value());
}

std::string mask_alone(const std::string& text) {
  return masker().mask(text);
}

// The first piece of 8 bytes of `secret` that `text` still shows.
std::string leak(const std::string& text, const std::string& secret) {
  for (std::size_t i = 0; i + 8 <= secret.size(); ++i)
    if (text.find(secret.substr(i, 8)) != std::string::npos) return secret.substr(i, 8);
  return {};
}

std::string json_escaped(const std::string& text) {
  std::string json;
  for (const char c : text) {
    if (c == '\n') {
      json += "\\n";
    } else if (c == '\t') {
      json += "\\t";
    } else {
      if (c == '"' || c == '\\') json += '\\';
      json += c;
    }
  }
  return json;
}

std::string with_numbers(const std::string& text) {
  std::string numbered;
  int line = 1;
  bool begins = true;
  for (const char c : text) {
    if (begins) numbered += "0000" + std::to_string(line++) + "| ";
    numbered += c;
    begins = c == '\n';
  }
  return numbered;
}

// A text as prompts, answers and tools bring it.
std::vector<std::pair<std::string, std::string>> wrapped(const std::string& text) {
  const std::string json = "{\"command\":\"" + json_escaped(text) + "\",\"timeout\":5}";
  return {
      {"bare", text},
      {"in a line", "please use " + text + " for this, thanks"},
      {"between lines", "first\n" + text + "\nlast\n"},
      {"in a shell line", "echo '" + text + "' | ./deploy --now"},
      {"in JSON", json},
      {"in JSON in JSON", "{\"body\":\"" + json_escaped(json) + "\"}"},
      {"after an escape", "{\"output\":\"done\\n" + json_escaped(text) + "\\nnext\"}"},
      {"as a tool shows files", with_numbers("a file\n" + text + "\nends")},
      {"in colours", "\x1B[32m" + text + "\x1B[0m"},
  };
}

// Blocks between lines of "%%", or single lines.
std::vector<std::string> harmless() {
  std::vector<std::string> found;
  const std::string all = read_file(data_path("masking/harmless.txt"));
  bool block = false;
  std::string text;
  for (std::size_t at = 0; at < all.size();) {
    const std::size_t end = std::min(all.find('\n', at), all.size());
    const std::string line = all.substr(at, end - at);
    at = end + 1;
    if (line == "%%") {
      if (block) found.push_back(std::move(text));
      text.clear();
      block = !block;
    } else if (block) {
      text += line + "\n";
    } else if (!line.empty()) {
      found.push_back(line);
    }
  }
  return found;
}

}  // namespace

TEST_CASE("planted secrets of every kind are masked in every form", "[query][replay]") {
  std::set<std::string> kinds;
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    for (const auto& planted : planted_secrets(seed)) {
      kinds.insert(planted.kind);
      for (const auto& [form, text] : wrapped(planted.before + planted.secret + planted.after)) {
        INFO("seed " << seed << ", " << planted.kind << " " << form << ": " << text);
        auto rules = masker();
        const std::string masked = rules.mask(text);
        INFO("masked: " << masked);
        CHECK(leak(masked, planted.secret).empty());
        CHECK(leak(masked, json_escaped(planted.secret)).empty());
        CHECK(masked.find("⟦secret:" + planted.kind + "#1⟧") != std::string::npos);
        CHECK(rules.counts().at(planted.kind) >= 1);
      }
    }
  }
  CHECK(kinds.size() >= 20);
}

TEST_CASE("harmless text from real code is left alone", "[query][replay]") {
  const auto texts = harmless();
  CHECK(texts.size() >= 200);
  for (const auto& text : texts) {
    CHECK(mask_alone(text) == text);
    const std::string json = "{\"output\":\"" + json_escaped(text) + "\"}";
    CHECK(mask_alone(json) == json);
    const std::string numbered = with_numbers(text);
    CHECK(mask_alone(numbered) == numbered);
  }
}

TEST_CASE("recorded sessions without secrets mask to themselves", "[query][replay]") {
  std::size_t files = 0;
  auto rules = masker();
  for (const auto& entry : fs::recursive_directory_iterator(data_path("captures"))) {
    const auto ending = entry.path().extension();
    if (ending != ".json" && ending != ".ndjson" && ending != ".sse") continue;
    const std::string text = read_file(entry.path());
    INFO(short_name(entry.path()));
    CHECK(rules.mask(text) == text);
    ++files;
  }
  for (const auto* name : {"events.sse", "exports.ndjson"}) {
    const std::string text = corpus_file(name);
    INFO(name);
    CHECK(rules.mask(text) == text);
  }
  CHECK(files > 300);
  CHECK(rules.counts().empty());
}

TEST_CASE("one secret has one placeholder wherever it stands", "[query][replay]") {
  const std::string value = random_text(7, 32);
  const std::string other = random_text(8, 32);
  const std::string assigned = "export DEPLOY_API_KEY=" + value + "\n";
  const std::string bare = "the key is " + value + "; and " + value + "?";

  auto rules = masker();

  CHECK(rules.mask(assigned) == "export DEPLOY_API_KEY=⟦secret:key#1⟧\n");
  CHECK(rules.mask(bare) == "the key is ⟦secret:key#1⟧; and ⟦secret:key#1⟧?");
  CHECK(rules.mask("{\"apiKey\": \"" + other + "\"}") == "{\"apiKey\": \"⟦secret:key#2⟧\"}");
  CHECK(rules.mask("x" + value + "y" + other) == "x⟦secret:key#1⟧y⟦secret:key#2⟧");
  CHECK(rules.counts() == std::map<std::string, std::uint64_t>{{"key", 6}});
}

TEST_CASE("what a later text gives away is masked in an earlier one", "[query][replay]") {
  const std::string value = random_text(9, 24);
  const std::vector<std::string> texts = {"use " + value, "DB_PASSWORD=" + value};

  auto blind = masker();
  CHECK(blind.mask(texts[0]) == texts[0]);

  auto rules = masker();
  for (const auto& text : texts)
    rules.learn(text);

  CHECK(rules.mask(texts[0]) == "use ⟦secret:password#1⟧");
  CHECK(rules.mask(texts[1]) == "DB_PASSWORD=⟦secret:password#1⟧");
}

TEST_CASE("a value is known with and without its escapes", "[query][replay]") {
  const std::string value = random_text(10, 12) + "\"q\\" + random_text(11, 12);
  auto rules = masker();

  rules.learn("{\"password\":\"" + json_escaped(value) + "\"}");

  CHECK(rules.mask("is " + value + " ok") == "is ⟦secret:password#1⟧ ok");
  CHECK(rules.mask("is " + json_escaped(value) + " ok") == "is ⟦secret:password#1⟧ ok");
  const std::string twice = json_escaped(json_escaped(value));
  CHECK(rules.mask("is " + twice + " ok") == "is ⟦secret:password#1⟧ ok");
}

TEST_CASE("the lines of a private key are known without their block", "[query][replay]") {
  const std::string key = planted_key(3);
  const std::string line = key.substr(key.find('\n') + 1, 64);
  auto rules = masker();
  rules.learn(key);

  CHECK(rules.mask("tail:\n" + line + "\n") == "tail:\n⟦secret:private-key#1⟧\n");
  CHECK(rules.mask(json_escaped(key)) == "⟦secret:private-key#1⟧\\n");
  CHECK(rules.mask(with_numbers(key)) == "00001| ⟦secret:private-key#1⟧\n");
  CHECK(rules.mask(key.substr(0, 200)) == "⟦secret:private-key#1⟧");
}

TEST_CASE("placeholders in a text are left alone and keep their numbers", "[query][replay]") {
  const std::string value = random_text(12, 24);
  auto rules = masker();
  const std::string before = "API_KEY=⟦secret:key#3⟧ and ⟦secret:key#⟧, ⟦secret:\n";

  CHECK(rules.mask(before) == before);
  const std::string masked = rules.mask("API_KEY=" + value);

  CHECK(masked == "API_KEY=⟦secret:key#4⟧");
  CHECK(rules.mask(masked) == masked);
  CHECK(rules.counts().at("key") == 1);
}

TEST_CASE("masking twice changes nothing more", "[query][replay]") {
  for (const auto& planted : planted_secrets(5)) {
    for (const auto& [form, text] : wrapped(planted.before + planted.secret + planted.after)) {
      INFO(planted.kind << " " << form);
      auto rules = masker();
      const std::string once = rules.mask(text);
      CHECK(rules.mask(once) == once);
      CHECK(mask_alone(once) == once);
    }
  }
}

TEST_CASE("the same texts in the same order come out the same", "[query][replay]") {
  std::vector<std::string> texts;
  for (std::uint32_t seed = 1; seed <= 3; ++seed)
    for (const auto& planted : planted_secrets(seed))
      texts.push_back(planted.before + planted.secret + planted.after);
  const auto all = [&] {
    auto rules = masker();
    for (const auto& text : texts)
      rules.learn(text);
    std::string out;
    for (const auto& text : texts)
      out += rules.mask(text) + "\n";
    return out;
  };

  CHECK(all() == all());
}

TEST_CASE("rules of one's own extend the set", "[query][replay]") {
  auto rules = masker({{"badge", "badge ([0-9]{6})"}, {"ticket", "TCK-[A-Z]+"}, {"nothing", "z*"}});

  CHECK(rules.mask("badge 123456, TCK-ABC, badge 654321, zz") ==
        "badge ⟦secret:badge#1⟧, ⟦secret:ticket#1⟧, badge ⟦secret:badge#2⟧, ⟦secret:nothing#1⟧");
  const std::string value = random_text(13, 24);
  CHECK(rules.mask("TOKEN=" + value) == "TOKEN=⟦secret:token#1⟧");
}

TEST_CASE("a bad rule is an error that names it", "[query][replay]") {
  const auto pattern = Masker::make({{"good", "a"}, {"bad", "(unclosed"}});
  REQUIRE(pattern.has_error());
  CHECK(pattern.error().code() == ErrorCode::InvalidArgument);
  CHECK(pattern.error().message().find("rule 2 (bad)") != std::string::npos);

  const auto kind = Masker::make({{"Not a kind⟧", "a"}});
  REQUIRE(kind.has_error());
  CHECK(kind.error().code() == ErrorCode::InvalidArgument);
  CHECK(kind.error().message().find("rule 1") != std::string::npos);
}

TEST_CASE("no rule cuts a character in two", "[query][replay]") {
  auto rules = masker({{"byte", R"(\C\C)"}});
  const std::string value = random_text(14, 24);

  CHECK(is_valid_utf8(rules.mask("aé世😀é")));
  auto plain = masker();
  const std::string text = "пароль: PASSWORD=\"пароль9" + value + "世\" 😀 token: 世" + value + "é";
  CHECK(is_valid_utf8(plain.mask(text)));
  const std::string broken = "\xE4\xB8 \xFF token=\x80 " + text.substr(1);
  CHECK(leak(plain.mask(broken), value).empty());
}

TEST_CASE("text made to be slow is masked like any other", "[query][replay]") {
  constexpr std::size_t kBytes = 1 << 20;
  const std::vector<std::string> units = {"token",
                                          "secret_token_",
                                          "eyJaaaaaaaaaaaa-",
                                          "eyJaaaaaaaaaaaa.",
                                          "ghp_",
                                          "sk-ant-aa-",
                                          "\"type\":\"api\"",
                                          "{\"type\":\"oauth\",",
                                          "-----BEGIN PRIVATE KEY-----",
                                          "machine a login b ",
                                          "://a:b",
                                          "cookie: a=",
                                          "password=\\",
                                          "password: \"",
                                          "⟦secret:a#",
                                          "bearer ",
                                          "a.bbbbbb.",
                                          "password=(",
                                          "curl -u a:b ",
                                          "Authorization: ",
                                          "AAAAAAAAAAAAAAAAAAAAAAAA",
                                          "{",
                                          "\\",
                                          "\"",
                                          "private key"};
  for (const auto& unit : units) {
    std::string text;
    while (text.size() < kBytes)
      text += unit;
    INFO(unit);
    CHECK(mask_alone(text).size() <= text.size() + kBytes);
  }
}

}  // namespace respool::test
