#include <algorithm>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include <catch2/catch.hpp>

#include "tests/support/files.h"

namespace respool::test {
namespace {

const fs::path kRoot = RESPOOL_SOURCE_DIR;

std::vector<fs::path> sources() {
  std::vector<fs::path> found;
  for (const auto* folder : {"schema", "engine", "ingest", "query", "tools", "bench", "tests"}) {
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder)) {
      const auto extension = entry.path().extension();
      if (extension == ".h" || extension == ".cc")
        found.push_back(fs::relative(entry.path(), kRoot));
    }
  }
  return found;
}

struct Include {
  std::string target;
  bool ours = false;
};

std::vector<Include> includes(const fs::path& source) {
  static const std::regex kInclude(R"re(^\s*#include ([<"])([^>"]+)[>"])re");
  std::vector<Include> found;
  std::istringstream lines(read_file(kRoot / source));
  std::string line;
  while (std::getline(lines, line)) {
    std::smatch match;
    if (std::regex_search(line, match, kInclude)) found.push_back({match[2], match[1] == "\""});
  }
  return found;
}

// The tables, structs and enums of a schema: each one's head, and its lines without comments.
std::map<std::string, std::vector<std::string>> declarations(const fs::path& schema) {
  std::map<std::string, std::vector<std::string>> found;
  std::istringstream text(read_file(schema));
  std::string line;
  std::string current;
  while (std::getline(text, line)) {
    line = line.substr(0, line.find("//"));
    while (!line.empty() && line.back() == ' ')
      line.pop_back();
    if (line.ends_with("{")) {
      found[current = line];
    } else if (line == "}") {
      current.clear();
    } else if (!current.empty() && !line.empty()) {
      found[current].push_back(line);
    }
  }
  return found;
}

// Headers that show simdjson to the sources beside them, and to nobody else.
bool is_internal(const std::string& header) {
  return header == "schema/opencode/json_reader.h" || header == "schema/opencode/decode_part.h" ||
         header == "schema/opencode/gather.h" || header == "schema/opencode/decode_note.h" ||
         header == "schema/opencode/decode_row.h";
}

std::string layer(const std::string& path) {
  return path.substr(0, path.find('/'));
}

}  // namespace

TEST_CASE("every include follows the house plan", "[architecture]") {
  const std::map<std::string, std::set<std::string>> allowed = {
      {"schema", {"schema"}},
      {"engine", {"engine", "schema"}},
      {"ingest", {"ingest", "engine", "schema"}},
      {"query", {"query", "engine", "schema"}},
      {"tools", {"tools", "query", "ingest", "engine", "schema"}},
      {"bench", {"bench", "tools", "query", "ingest", "engine", "schema"}},
      {"tests", {"tests", "bench", "tools", "query", "ingest", "engine", "schema"}},
  };
  std::size_t checked = 0;
  for (const auto& source : sources()) {
    for (const auto& include : includes(source)) {
      if (!include.ours) continue;
      INFO(source.string() << " includes " << include.target);
      CHECK(allowed.at(layer(source.string())).count(layer(include.target)) == 1);
      ++checked;
    }
  }
  CHECK(checked > 200);
}

TEST_CASE("outside libraries stay behind their fences", "[architecture]") {
  // A header's beginning, and the only places that may include it.
  const std::vector<std::pair<std::string, std::regex>> fences = {
      {"rocksdb/", std::regex(R"(engine/storage/([a-z_]+\.cc|database\.h))")},
      {"simdjson", std::regex(R"(schema/opencode/[a-z_0-9]+\.(cc|h)|tools/config\.cc)")},
      {"sqlite3", std::regex(R"(ingest/source/database_source\.cc)")},
      {"openssl/", std::regex(R"(schema/digest\.cc)")},
      {"xxhash", std::regex(R"(schema/digest\.cc)")},
      {"zstd", std::regex(R"(schema/bundle_format\.cc)")},
      {"CLI/", std::regex(R"(tools/command_line\.cc)")},
      {"re2/", std::regex(R"(query/replay/mask[a-z_]*\.cc)")},
      {"date/tz", std::regex(R"(query/zone\.cc)")},
      {"flatbuffers/", std::regex(R"(schema/.*)")},
      {"boost/asio", std::regex(R"((ingest|tools)/.*)")},
      {"boost/process", std::regex(R"(ingest/process/child_process\.cc)")},
      {"boost/beast", std::regex(R"(ingest/opencode/http_client\.cc)")},
      {"boost/json",
       std::regex(R"(ingest/opencode/(config_content|seed_server|model_limits)\.cc)")},
      {"catch2/", std::regex("never")},
      {"benchmark/", std::regex("never")},
  };
  for (const auto& source : sources()) {
    const std::string name = source.string();
    if (layer(name) == "tests" || layer(name) == "bench") continue;
    for (const auto& include : includes(source)) {
      for (const auto& [library, place] : fences) {
        if (!include.target.starts_with(library)) continue;
        INFO(name << " includes " << include.target);
        CHECK(std::regex_match(name, place));
      }
    }
  }
}

TEST_CASE("public headers show no type of a fenced library", "[architecture]") {
  const std::regex forward(R"(^\s*class \w+;)");
  for (const auto& source : sources()) {
    const std::string name = source.string();
    if (source.extension() != ".h" || name.starts_with("tests/") || name.starts_with("bench/"))
      continue;
    if (is_internal(name)) continue;
    if (name.starts_with("engine/storage/"))
      continue;  // forward declarations of RocksDB, by design
    INFO(name);
    const std::string text = read_file(kRoot / source);
    for (const auto* type : {"rocksdb::", "simdjson::", "boost::asio::", "sqlite3", "re2::"})
      CHECK(text.find(type) == std::string::npos);
    CHECK(text.find("using namespace") == std::string::npos);
    CHECK(text.find("#pragma once") != std::string::npos);
  }
}

TEST_CASE("only the sources of schema/opencode see its internal headers", "[architecture]") {
  for (const auto& source : sources()) {
    for (const auto& include : includes(source)) {
      INFO(source.string());
      if (is_internal(include.target)) CHECK(source.string().starts_with("schema/opencode/"));
      if (include.target == "engine/storage/database.h")
        CHECK(source.string().starts_with("engine/storage/"));
    }
  }
}

TEST_CASE("no result is thrown away", "[architecture]") {
  const std::regex discarded(R"(\(void\)\s*\w+[\w.:>-]*\()");
  for (const auto& source : sources()) {
    if (source.string().starts_with("tests/architecture/")) continue;
    INFO(source.string());
    CHECK_FALSE(std::regex_search(read_file(kRoot / source), discarded));
  }
}

TEST_CASE("files stay short enough to read", "[architecture]") {
  for (const auto& source : sources()) {
    const std::string text = read_file(kRoot / source);
    INFO(source.string());
    CHECK(std::count(text.begin(), text.end(), '\n') <= 450);
  }
}

TEST_CASE("the top level is the house plan, and every folder has its README", "[architecture]") {
  for (const auto* folder : {"schema", "engine", "ingest", "query", "bench", "tests", "tools"}) {
    INFO(folder);
    CHECK(fs::exists(kRoot / folder / "README.md"));
    CHECK(fs::exists(kRoot / folder / "CMakeLists.txt"));
  }
  for (const auto* file : {"README.md",
                           "ARCHITECTURE.md",
                           "CHANGELOG.md",
                           "LICENSE",
                           "CMakePresets.json",
                           ".clang-format",
                           ".clang-tidy",
                           "schema/FORMAT.md"}) {
    INFO(file);
    CHECK(fs::exists(kRoot / file));
  }
}

TEST_CASE("schemas on disk only ever grow", "[architecture][schema]") {
  // Every line of a frozen table, struct or enum must still stand in the live one of that name.
  for (const auto& entry : fs::directory_iterator(kRoot / "schema/fbs/frozen/v1")) {
    const auto frozen = declarations(entry.path());
    const auto live = declarations(kRoot / "schema/fbs" / entry.path().filename());
    CHECK_FALSE(frozen.empty());
    for (const auto& [name, lines] : frozen) {
      INFO(entry.path().filename().string() << ": " << name);
      REQUIRE(live.count(name) == 1);
      const auto& now = live.at(name);
      REQUIRE(now.size() >= lines.size());
      for (std::size_t i = 0; i < lines.size(); ++i) {
        if (name.starts_with("enum ")) {
          CHECK(now[i].starts_with(lines[i].substr(0, lines[i].find_last_not_of(",") + 1)));
        } else {
          CHECK(now[i] == lines[i]);
        }
      }
    }
  }
}

TEST_CASE("every field of a table has an explicit id", "[architecture][schema]") {
  const std::regex field(R"(^\s+[a-z_]+:.*;)");
  const std::regex with_id(R"(\(id: \d+(, native_inline)?\))");
  for (const auto& entry : fs::directory_iterator(kRoot / "schema/fbs")) {
    if (entry.path().extension() != ".fbs") continue;
    std::istringstream lines(read_file(entry.path()));
    std::string line;
    bool in_table = false;
    while (std::getline(lines, line)) {
      if (line.starts_with("table ")) in_table = true;
      if (line.starts_with("}")) in_table = false;
      INFO(entry.path().filename().string() << ": " << line);
      if (in_table && std::regex_search(line, field)) CHECK(std::regex_search(line, with_id));
    }
  }
}

}  // namespace respool::test
