#include "engine/spool/recording_writer.h"

#include <algorithm>
#include <csignal>
#include <functional>
#include <memory>

#include <unistd.h>

#include <catch2/catch.hpp>
#include <sys/resource.h>
#include <sys/wait.h>

#include "tests/support/fake_opencode.h"
#include "tests/support/temp_store.h"

namespace respool::test {
namespace {

using Lines = std::vector<std::string>;

Lines lines_in(const fs::path& path) {
  Lines lines;
  const std::string bytes = read_file(path);
  for (std::size_t begin = 0; begin < bytes.size();) {
    const auto end = std::min(bytes.find('\n', begin), bytes.size());
    lines.push_back(bytes.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

std::string type_of(const std::string& line) {
  return json_field(line, "type");
}

// All lines of all files of a recording, headers and clock lines left out.
Lines recorded(const std::vector<fs::path>& folders) {
  Lines found;
  for (const auto& file : list_spool(folders)) {
    for (auto& line : lines_in(file.path)) {
      if (!line.starts_with(kRecordingMark) && type_of(line) != "respool.clock")
        found.push_back(std::move(line));
    }
  }
  return found;
}

std::string line_of(int number, std::size_t bytes = 0) {
  return R"({"type":"text","n":)" + std::to_string(number) + R"(,"x":")" + std::string(bytes, 'x') +
         "\"}";
}

class Spool {
 public:
  std::unique_ptr<RecordingWriter> writer() {
    return std::make_unique<RecordingWriter>(folders(), header(), [this] { return now_ms; });
  }
  std::vector<fs::path> folders() const { return {dir_.path() / "one", dir_.path() / "two"}; }
  static RecordingHeader header() {
    return {.id = "0001-run-1",
            .source = "run",
            .host = "here",
            .run = "run_1",
            .session = {},
            .directory = "/work",
            .started_ms = kNow};
  }

  std::int64_t now_ms = kNow;

 private:
  TempDir dir_;
};

// From now on no file may grow beyond this: a disk that is full, as far as a writer can tell.
void limit_files(rlim_t bytes) {
  const rlimit limit{.rlim_cur = bytes, .rlim_max = RLIM_INFINITY};
  if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) ::_exit(9);
}

// Does it in a process of its own, which the limits of limit_files() go with. `work` answers
// whether all was as it should be.
bool in_child(const std::function<bool()>& work) {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    ::_exit(work() ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

TEST_CASE("a recording holds its header, the time, and each line as it was given",
          "[engine][spool]") {
  Spool spool;
  const Lines lines = {line_of(1), "not JSON", "", std::string("a\0b\xff", 4), line_of(2, 100'000)};
  auto writer = spool.writer();

  for (const auto& line : lines) {
    const auto place = writer->line(line);
    CHECK(read_file(place.file).substr(place.offset) == line + "\n");
  }
  const auto open = list_spool(spool.folders());
  writer->finish();

  REQUIRE(open.size() == 1);
  CHECK_FALSE(open[0].done);
  CHECK(open[0].writer == this_process());
  const auto done = list_spool(spool.folders());
  REQUIRE(done.size() == 1);
  CHECK(done[0].done);
  CHECK(done[0].path.parent_path() == spool.folders()[0]);
  const auto all = lines_in(done[0].path);
  const auto header = value(parse_header_line(all.at(0)));
  CHECK(header.id == done[0].id);
  CHECK(header.source == "run");
  CHECK(header.host == "here");
  CHECK(header.run == "run_1");
  CHECK(header.directory == "/work");
  CHECK(header.started_ms == kNow);
  CHECK(type_of(all.at(1)) == "respool.clock");
  CHECK(Lines(all.begin() + 2, all.end()) == lines);
  CHECK((fs::status(done[0].path).permissions() &
         ~(fs::perms::owner_read | fs::perms::owner_write)) == fs::perms::none);
}

TEST_CASE("a header says back what it was told, and other first lines are refused",
          "[engine][spool]") {
  RecordingHeader header = Spool::header();
  header.session = "ses_1";
  header.directory = "/a \"quoted\"\\ folder\n\x01";

  const auto read = value(parse_header_line(header_line(header)));

  CHECK(header_line(header).find('\n') == std::string::npos);
  CHECK(read.session == header.session);
  CHECK(read.directory == header.directory);
  const auto newer = parse_header_line(R"({"respool_recording":2,"id":"a"})");
  REQUIRE_FALSE(newer);
  CHECK(newer.error().code() == ErrorCode::UnsupportedFormat);
  for (const std::string line : {"", "{}", "not JSON", "{\"type\":\"text\"}"})
    CHECK_FALSE(parse_header_line(line));
}

TEST_CASE("the time is told at most once a second, before the line it is of", "[engine][spool]") {
  Spool spool;
  auto writer = spool.writer();
  int number = 0;
  for (const std::int64_t step : {0, 1, 500, 498, 1, 999, 1, 5000, -10'000}) {
    spool.now_ms += step;
    writer->line(line_of(++number));
  }
  writer->finish();

  Lines seen;
  for (const auto& line : lines_in(list_spool(spool.folders()).at(0).path)) {
    if (line.starts_with(kRecordingMark)) continue;
    seen.push_back(type_of(line) == "respool.clock" ? json_field(line, "timestamp")
                                                    : json_field(line, "n"));
  }
  const auto at = [](std::int64_t offset) { return std::to_string(kNow + offset); };
  CHECK(seen == Lines{at(0),
                      "1",
                      "2",
                      "3",
                      "4",
                      at(1000),
                      "5",
                      "6",
                      at(2000),
                      "7",
                      at(7000),
                      "8",
                      at(-3000),
                      "9"});
}

TEST_CASE(
    "where a disk is full the recording goes on in the next folder, in a file that sorts "
    "behind, and no line is torn",
    "[engine][spool]") {
  Spool spool;
  constexpr int kCount = 7;
  const bool good = in_child([&] {
    auto writer = spool.writer();
    writer->set_session("ses_1");
    limit_files(4096);
    bool placed = true;
    for (int i = 0; i < kCount; ++i)
      placed &= !writer->line(line_of(i, 1000)).file.empty();
    writer->finish();
    return placed && writer->waiting_bytes() == 0 && writer->lost_lines() == 0;
  });

  CHECK(good);
  const auto files = list_spool(spool.folders());
  REQUIRE(files.size() == 3);
  for (std::size_t i = 0; i < files.size(); ++i) {
    CHECK(files[i].done);
    CHECK(files[i].bytes <= 4096);
    CHECK(files[i].path.parent_path() == spool.folders()[i % 2]);
    const auto header = value(parse_header_line(lines_in(files[i].path).at(0)));
    CHECK(header.id == files[i].id);
    CHECK(header.run == "run_1");
    CHECK(header.session == (i == 0 ? "" : "ses_1"));
    CHECK(read_file(files[i].path).back() == '\n');
  }
  Lines expected;
  for (int i = 0; i < kCount; ++i)
    expected.push_back(line_of(i, 1000));
  CHECK(recorded(spool.folders()) == expected);
}

TEST_CASE("while all disks are full, lines wait in memory and are written in order later",
          "[engine][spool]") {
  Spool spool;
  const bool good = in_child([&] {
    auto writer = spool.writer();
    writer->line(line_of(0));
    limit_files(1);
    bool waited = true;
    for (int i = 1; i <= 3; ++i)
      waited &= writer->line(line_of(i)).file.empty();
    waited &= writer->waiting_bytes() > 0;
    limit_files(RLIM_INFINITY);
    spool.now_ms += 5000;
    const bool placed = !writer->line(line_of(4)).file.empty();
    writer->finish();
    return waited && placed && writer->waiting_bytes() == 0 && writer->lost_lines() == 0;
  });

  CHECK(good);
  CHECK(recorded(spool.folders()) ==
        Lines{line_of(0), line_of(1), line_of(2), line_of(3), line_of(4)});
}

TEST_CASE("what waits in memory is written when the recording is finished", "[engine][spool]") {
  Spool spool;
  CHECK(in_child([&] {
    auto writer = spool.writer();
    limit_files(1);
    writer->line(line_of(1));
    writer->line(line_of(2));
    limit_files(RLIM_INFINITY);
    writer->finish();
    return writer->waiting_bytes() == 0;
  }));

  CHECK(recorded(spool.folders()) == Lines{line_of(1), line_of(2)});
}

TEST_CASE("beyond its memory a recording counts what it lost, and says so once it can",
          "[engine][spool]") {
  Spool spool;
  constexpr std::size_t kPiece = 1 << 20;
  constexpr int kFits = static_cast<int>(RecordingWriter::kMemoryBytes / kPiece);
  const std::string piece(kPiece, 'p');
  const bool good = in_child([&] {
    auto writer = spool.writer();
    limit_files(1);
    for (int i = 0; i < kFits; ++i)
      writer->line(piece);
    const bool all_fit =
        writer->lost_lines() == 0 && writer->waiting_bytes() == RecordingWriter::kMemoryBytes;
    writer->line("lost");
    writer->line("lost too");
    const bool counted = writer->lost_lines() == 2;
    limit_files(RLIM_INFINITY);
    spool.now_ms += 5000;
    writer->line(line_of(1));
    writer->line(line_of(2));
    writer->finish();
    return all_fit && counted && writer->lost_lines() == 2 && writer->waiting_bytes() == 0;
  });

  CHECK(good);
  const auto lines = recorded(spool.folders());
  REQUIRE(lines.size() == kFits + 3);
  CHECK(std::all_of(
      lines.begin(), lines.begin() + kFits, [&](const auto& line) { return line == piece; }));
  CHECK(type_of(lines[kFits]) == "respool.lost");
  CHECK(json_field(lines[kFits], "records") == "2");
  CHECK(json_field(lines[kFits], "bytes") == "12");
  CHECK(Lines(lines.end() - 2, lines.end()) == Lines{line_of(1), line_of(2)});
}

TEST_CASE("a line that no disk has room for leaves no trail of files without lines",
          "[engine][spool]") {
  Spool spool;
  CHECK(in_child([&] {
    auto writer = spool.writer();
    limit_files(600);
    for (int i = 0; i < 20; ++i) {
      writer->line(line_of(i, 1000));
      spool.now_ms += 5000;
    }
    limit_files(RLIM_INFINITY);
    writer->finish();
    return writer->lost_lines() == 0;
  }));

  CHECK(recorded(spool.folders()).size() == 20);
  CHECK(list_spool(spool.folders()).size() <= 3);
}

TEST_CASE("a recording that can begin nowhere yet begins when a folder can be had",
          "[engine][spool]") {
  Spool spool;
  for (const auto& folder : spool.folders())
    write_file(folder, "in the way");
  auto writer = spool.writer();
  CHECK_FALSE(writer->is_on_disk());
  CHECK(writer->line(line_of(1)).file.empty());

  fs::remove(spool.folders()[1]);
  spool.now_ms += 5000;
  const auto place = writer->line(line_of(2));

  CHECK(writer->is_on_disk());
  CHECK(place.file.parent_path() == spool.folders()[1]);
  writer->finish();
  CHECK(recorded({spool.folders()[1]}) == Lines{line_of(1), line_of(2)});
  CHECK(list_spool({spool.folders()[1]}).at(0).id == Spool::header().id);
}

TEST_CASE("a first folder that cannot be had leaves the second one", "[engine][spool]") {
  Spool spool;
  write_file(spool.folders()[0], "in the way");

  auto writer = spool.writer();
  writer->line(line_of(1));
  writer->finish();

  CHECK(recorded({spool.folders()[1]}) == Lines{line_of(1)});
}

TEST_CASE("a writer that goes without finishing has finished", "[engine][spool]") {
  Spool spool;

  spool.writer()->line(line_of(1));

  const auto files = list_spool(spool.folders());
  REQUIRE(files.size() == 1);
  CHECK(files[0].done);
}

}  // namespace respool::test
