#include "tests/support/texts.h"

#include <algorithm>
#include <cctype>
#include <sstream>

#include "schema/base64.h"
#include "schema/opencode/utf8.h"

#include "tests/support/files.h"

namespace respool::test {
namespace {

std::string joined_files(const std::vector<fs::path>& paths, std::size_t limit) {
  std::string all;
  for (const auto& path : paths) {
    if (all.size() >= limit) break;
    all += read_file(path);
  }
  return to_valid_utf8(all);
}

std::vector<fs::path> files_below(const std::string& folder, const std::string& ending) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(RESPOOL_SOURCE_DIR) / folder))
    if (entry.path().extension() == ending) found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

std::string documents() {
  std::string all =
      read_file(RESPOOL_SOURCE_DIR "/README.md") + read_file(RESPOOL_SOURCE_DIR "/ARCHITECTURE.md");
  for (const auto* folder : {"engine", "ingest", "query", "schema", "tools"})
    all += joined_files(files_below(folder, ".md"), kTextSize);
  return to_valid_utf8(all.substr(0, kTextSize));
}

std::string quoted_lines(const std::string& text) {
  std::string quoted = "| ";
  for (const char c : text) {
    quoted += c;
    if (c == '\n') quoted += "| ";
  }
  return quoted;
}

// Code without the blanks that people need: short lines become long ones.
std::string minified(const std::string& text) {
  std::string dense;
  for (const char c : text) {
    const bool blank = c == ' ' || c == '\n';
    if (blank && (dense.empty() || dense.back() == ' ' || std::ispunct(dense.back()) != 0))
      continue;
    if (!blank && std::ispunct(c) != 0 && !dense.empty() && dense.back() == ' ') dense.pop_back();
    dense += blank ? ' ' : c;
  }
  return dense;
}

constexpr std::string_view kHex = "0123456789abcdef";
constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz";
constexpr std::string_view kCapitals = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
constexpr std::string_view kSigns = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";

// Lines that `line` makes, up to kTextSize bytes.
template <class Line>
std::string lines_of(Line line) {
  std::string text;
  while (text.size() < kTextSize)
    text += line() + "\n";
  return text;
}

std::string emoji(TextGenerator& make) {
  std::string text;
  while (text.size() < kTextSize) {
    append_utf8(text, static_cast<char32_t>(0x1F600 + make.below(0x50)));
    if (make.below(3) == 0) append_utf8(text, static_cast<char32_t>(0x1F300 + make.below(0x200)));
    if (make.below(4) == 0) text += "\xE2\x80\x8D";
    if (make.below(4) == 0) append_utf8(text, static_cast<char32_t>(0x2600 + make.below(0xC0)));
    if (make.below(8) == 0) text += "\xEF\xB8\x8F ";
  }
  return text;
}

std::vector<TextSample> generated(std::uint32_t seed) {
  TextGenerator make(seed);
  const std::string word_bytes = std::string(kLetters) + std::string(kCapitals) + "0123456789";
  const auto hex = [&](std::size_t size) { return make.of(kHex, size); };
  return {
      {"hex", hex(kTextSize)},
      {"hex", lines_of([&] { return hex(64) + "  " + hex(8); })},
      {"hex", lines_of([&] { return hex(8) + "-" + hex(4) + "-" + hex(4) + "-" + hex(12); })},
      {"hex", lines_of([&] { return hex(2) + " " + hex(2) + " " + hex(2) + " " + hex(2); })},
      {"hex", make.of("0123456789ABCDEF", kTextSize)},
      {"base64",
       base64(make.of(word_bytes, kTextSize / 2)) + base64(make.of(kSigns, kTextSize / 2))},
      {"base64", lines_of([&] { return make.of(word_bytes + "+/", 76); })},
      {"ids", lines_of([&] {
         return "msg_" + make.of(word_bytes, 26) + " prt_" + make.of(word_bytes, 26);
       })},
      {"digits", make.of("0123456789", kTextSize)},
      {"digits", lines_of([&] {
         return make.of("0123456789", 1 + make.below(9)) + ", " + make.of("0123456789", 2);
       })},
      {"emoji", emoji(make)},
      {"white",
       make.one_of({" ", "\n", "\t", "    ", "\n\n", "        ", "x", "end", "\r\n"}, kTextSize)},
      {"signs", make.of(kSigns, kTextSize)},
      {"signs",
       make.one_of(
           {"------", "=====", "| ", "+---+", "();", "{}", "[]", "::", "->", "\n", " ", "***"},
           kTextSize)},
      {"letters", make.of(kLetters, kTextSize)},
      {"letters", make.of(kCapitals, kTextSize)},
      {"letters", make.of(word_bytes, kTextSize)},
      {"letters",
       lines_of([&] { return make.of(kLetters, 1 + make.below(9)) + " " + make.of(kLetters, 3); })},
  };
}

// The paragraphs of texts/scripts.txt, repeated to `size`; the words of each time in another order.
std::vector<TextSample> languages() {
  std::vector<TextSample> all;
  std::istringstream lines(read_file(data_path("texts/scripts.txt")));
  std::string head;
  std::string text;
  TextGenerator make(4);
  while (std::getline(lines, head) && std::getline(lines, text)) {
    std::string repeated = text;
    while (repeated.size() < kTextSize / 4) {
      const std::size_t cut = utf8_boundary(text, make.below(text.size()));
      repeated += " " + text.substr(cut) + text.substr(0, cut);
    }
    all.push_back({head.substr(3, head.find(' ', 3) - 3), repeated});
  }
  return all;
}

}  // namespace

std::vector<TextSample> texts_of_all_kinds() {
  std::vector<TextSample> all = languages();
  for (const std::uint32_t seed : {1U, 2U})
    for (auto& sample : generated(seed))
      all.push_back(std::move(sample));
  const std::string prose = documents();
  const std::string code = joined_files(files_below("engine", ".cc"), kTextSize);
  const std::string json = joined_files(captures("store", ".json"), kTextSize);
  const std::string log = joined_files(captures("run", ".ndjson"), kTextSize);
  all.push_back({"prose", prose});
  all.push_back({"code", code});
  all.push_back({"code", joined_files(files_below("tools", ".cc"), kTextSize)});
  all.push_back({"code", joined_files(files_below("ingest", ".h"), kTextSize)});
  all.push_back({"code", joined_files(files_below("tests", ".mjs"), kTextSize)});
  all.push_back({"minified", minified(joined_files(files_below("tests", ".mjs"), kTextSize))});
  all.push_back({"minified", minified(code)});
  all.push_back({"json", json});
  all.push_back({"json", minified(json)});
  all.push_back({"log", log});
  all.push_back({"log", joined_files({serve_captures().front() / "event.sse"}, kTextSize)});
  all.push_back({"quoted", quoted_lines(prose)});
  all.push_back({"quoted", quoted_lines(code)});
  all.push_back({"quoted", quoted_lines(json)});
  std::string mixed;
  for (std::size_t at = 0; mixed.size() < kTextSize; at = (at + 997) % 40'000)
    for (const auto& sample : all)
      if (at < sample.text.size()) {
        const std::size_t from = utf8_boundary(sample.text, at);
        mixed += sample.text.substr(from,
                                    utf8_boundary(std::string_view(sample.text).substr(from), 120));
      }
  all.push_back({"mixed", to_valid_utf8(mixed)});
  return all;
}

}  // namespace respool::test
