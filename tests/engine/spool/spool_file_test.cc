#include "engine/spool/spool_file.h"

#include <algorithm>

#include <unistd.h>

#include <catch2/catch.hpp>
#include <sys/wait.h>

#include "tests/support/files.h"

namespace respool::test {
namespace {

constexpr std::int64_t kDayMs = 24LL * 3600 * 1000;

// A child that says who it is and ends, once the test has asked about it.
class Child {
 public:
  Child() {
    int says[2];
    int waits[2];
    REQUIRE(::pipe(says) == 0);
    REQUIRE(::pipe(waits) == 0);
    pid_ = ::fork();
    REQUIRE(pid_ >= 0);
    if (pid_ == 0) {
      ::close(waits[1]);
      const std::uint64_t start = this_process().start_time;
      char byte = 0;
      const bool said = ::write(says[1], &start, sizeof start) == sizeof start;
      const bool told = ::read(waits[0], &byte, 1) == 0;
      ::_exit(said && told ? 0 : 1);
    }
    ::close(says[1]);
    ::close(waits[0]);
    until_ = waits[1];
    identity_ = this_process();
    identity_.pid = static_cast<std::uint64_t>(pid_);
    REQUIRE(::read(says[0], &identity_.start_time, sizeof identity_.start_time) ==
            sizeof identity_.start_time);
    ::close(says[0]);
  }
  ~Child() { end(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  void end() {
    if (until_ < 0) return;
    ::close(until_);
    until_ = -1;
    ::waitpid(pid_, nullptr, 0);
  }
  const WriterIdentity& identity() const { return identity_; }

 private:
  pid_t pid_ = -1;
  int until_ = -1;
  WriterIdentity identity_;
};

std::vector<std::string> ids(const std::vector<SpoolFile>& files) {
  std::vector<std::string> found;
  for (const auto& file : files)
    found.push_back(file.id);
  return found;
}

}  // namespace

TEST_CASE("the name of a recording says which it is, who writes it and whether it is done",
          "[engine][spool]") {
  const WriterIdentity writer = this_process();
  CHECK(writer.pid == static_cast<std::uint64_t>(::getpid()));
  CHECK(writer.start_time > 0);
  for (const bool done : {false, true}) {
    const auto id = new_recording_id("run", 1'796'100'000'000);

    const auto read = parse_spool_file_name(fs::path("/spool") / spool_file_name(id, writer, done));

    REQUIRE(read);
    CHECK(read->path.parent_path() == "/spool");
    CHECK(read->id == id);
    CHECK(read->writer == writer);
    CHECK(read->done == done);
  }
}

TEST_CASE("recordings begun later have names that sort later", "[engine][spool]") {
  std::vector<std::string> begun;
  for (const std::int64_t time : {0LL, 999LL, 1'796'100'000'000LL, 1'796'100'000'001LL})
    begun.push_back(new_recording_id("run", time));

  CHECK(std::is_sorted(begun.begin(), begun.end()));
  CHECK(new_recording_id("run", 1) != new_recording_id("run", 1));
}

TEST_CASE("files that are no recordings, and symbolic links, are nobody's", "[engine][spool]") {
  const TempDir dir;
  const WriterIdentity writer = this_process();
  const auto path = dir.path() / spool_file_name("first", writer, true);
  write_file(path, "12345");
  write_file(dir.path() / spool_file_name("second", writer, false), "");
  for (const std::string name : {"README",
                                 "a.1.2.boot-1",
                                 "a.1.2.boot-1.tmp",
                                 "a.1.2.boot-1.done.gz",
                                 "a.1.2.boot-1.done.",
                                 "a.x.2.boot-1.done",
                                 "a.1.-2.boot-1.done",
                                 "a.1..boot-1.done",
                                 ".1.2.boot-1.done",
                                 "a b.1.2.boot-1.done",
                                 "a.99999999999999999999.2.boot-1.done"}) {
    INFO(name);
    CHECK_FALSE(parse_spool_file_name(name));
    write_file(dir.path() / name, "");
  }
  CHECK_FALSE(parse_spool_file_name(std::string(97, 'a') + ".1.2.boot-1.done"));
  fs::create_directory(dir.path() / spool_file_name("folder", writer, true));
  fs::create_symlink(path, dir.path() / spool_file_name("link", writer, true));

  const auto files = list_spool({dir.path(), dir.path() / "absent"});

  CHECK(ids(files) == std::vector<std::string>{"first", "second"});
  CHECK(files[0].bytes == 5);
  CHECK(files[0].ended());
  CHECK_FALSE(files[1].ended());
}

TEST_CASE("recordings of all folders are listed in the order they were begun", "[engine][spool]") {
  const TempDir one;
  const TempDir two;
  const WriterIdentity writer = this_process();
  write_file(one.path() / spool_file_name("a", writer, true), "");
  write_file(two.path() / spool_file_name("a-0001", writer, true), "");
  write_file(one.path() / spool_file_name("a-0002", writer, true), "");
  write_file(two.path() / spool_file_name("b", writer, true), "");

  CHECK(ids(list_spool({two.path(), one.path()})) ==
        std::vector<std::string>{"a", "a-0001", "a-0002", "b"});
}

TEST_CASE("a writer is alive while its very process is", "[engine][spool]") {
  CHECK(liveness_of(this_process()) == Liveness::Alive);
  Child child;
  CHECK(liveness_of(child.identity()) == Liveness::Alive);

  child.end();

  CHECK(liveness_of(child.identity()) == Liveness::Dead);
}

TEST_CASE("another process under the same number is not the writer", "[engine][spool]") {
  WriterIdentity recycled = this_process();
  ++recycled.start_time;

  CHECK(liveness_of(recycled) == Liveness::Dead);
}

TEST_CASE("a writer of another boot is dead; of another namespace nobody knows",
          "[engine][spool]") {
  WriterIdentity writer = this_process();
  const std::string boot = writer.boot;
  REQUIRE(boot.find('-') != std::string::npos);

  writer.boot = "00000000-0000-0000-0000-000000000000" + boot.substr(boot.rfind('-'));
  CHECK(liveness_of(writer) == Liveness::Dead);
  writer.boot = boot.substr(0, boot.rfind('-')) + "-1";
  CHECK(liveness_of(writer) == Liveness::Unknown);
}

TEST_CASE("a recording from another namespace is left alone until it was silent for a week",
          "[engine][spool]") {
  const TempDir dir;
  WriterIdentity writer = this_process();
  writer.boot = writer.boot.substr(0, writer.boot.rfind('-')) + "-1";
  write_file(dir.path() / spool_file_name("foreign", writer, false), "");
  auto file = list_spool({dir.path()}).at(0);

  CHECK_FALSE(file.ended());
  file.modified_ms -= 6 * kDayMs;
  CHECK_FALSE(file.ended());
  file.modified_ms -= 2 * kDayMs;
  CHECK(file.ended());
}

TEST_CASE("the spool's folder is its user's alone", "[engine][spool]") {
  const TempDir dir;
  const auto folder = dir.path() / "deep" / "spool";

  REQUIRE(make_private_folder(folder));

  CHECK(fs::status(folder).permissions() == fs::perms::owner_all);
  CHECK(make_private_folder(folder));
  write_file(dir.path() / "file", "");
  CHECK_FALSE(make_private_folder(dir.path() / "file"));
  CHECK_FALSE(make_private_folder(dir.path() / "file" / "spool"));
}

}  // namespace respool::test
