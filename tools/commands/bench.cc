#include <cstring>
#include <ctime>
#include <functional>

#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>

#include "engine/facts/fold.h"
#include "engine/model/recorder.h"
#include "engine/storage/scratch_directory.h"

#include "ingest/ingester.h"
#include "ingest/source/framer.h"
#include "query/replay/prefix.h"

#include "tools/context.h"
#include "tools/output/json_writer.h"
#include "tools/output/table.h"

namespace respool {
namespace {

// As much of the file as is measured; more would only take longer.
constexpr std::uint64_t kSampleBytes = 64ULL << 20;

double cpu_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// A store in a temporary folder: the user's own is never touched.
class ScratchStore {
 public:
  Result<Store*> open() {
    RESPOOL_TRY(store_,
                Store::open({.directory = dir_.path() / "store",
                             .host = "bench",
                             .purpose = "bench",
                             .now_ms = now_ms()},
                            Access::Write));
    return store_.get();
  }

 private:
  ScratchDirectory dir_;  // outlives the store in it
  std::unique_ptr<Store> store_;
};

struct Sample {
  std::string bytes;                 // the beginning of the file, up to a whole line
  std::vector<std::string> records;  // as the framer cuts them
  std::uint64_t record_bytes = 0;
};

Result<Sample> read_sample(const std::string& path) {
  Sample sample;
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return Error(ErrorCode::NotFound, fmt::format("{}: cannot be read", path));
  std::string block(1 << 20, '\0');
  ssize_t got = 0;
  while (sample.bytes.size() < kSampleBytes &&
         (got = ::read(file, block.data(), block.size())) > 0) {
    sample.bytes.append(block.data(), static_cast<std::size_t>(got));
  }
  ::close(file);
  if (got < 0) return Error(ErrorCode::Io, fmt::format("{}: cannot be read", path));
  if (sample.bytes.size() >= kSampleBytes) sample.bytes.resize(sample.bytes.rfind('\n') + 1);
  Framer framer([&](const Frame& frame) -> Result<void> {
    sample.records.emplace_back(frame.raw);
    sample.record_bytes += frame.raw.size();
    return ok();
  });
  RESPOOL_TRY(framer.feed(sample.bytes));
  RESPOOL_TRY(framer.finish());
  if (sample.records.empty())
    return Error(ErrorCode::InvalidArgument, fmt::format("{} holds no records", path));
  return sample;
}

struct Figure {
  std::string name;
  std::string against;
  double seconds = 0;  // CPU seconds a pass over the sample takes
};

// Runs `pass` until `seconds` have gone by, at least once, and takes the fastest.
Result<double> measure(double seconds, const std::function<Result<void>()>& pass) {
  double best = 0;
  const double begin = cpu_seconds();
  do {
    const double start = cpu_seconds();
    RESPOOL_TRY(pass());
    const double took = cpu_seconds() - start;
    if (best == 0 || took < best) best = took;
  } while (cpu_seconds() - begin < seconds);
  return best;
}

Result<void> fill(Store& store, const Sample& sample) {
  RESPOOL_TRY(const auto recorder, Recorder::open(store));
  IngestOptions options;
  options.now_ms = now_ms;
  Ingester ingester(*recorder, options);
  RESPOOL_TRY(ingester.read_bytes(sample.bytes, "bench", 1 << 20));
  return recorder->finish();
}

Result<std::vector<Figure>> run_all(const Sample& sample, double seconds) {
  std::vector<Figure> figures;
  std::string buffer;
  RESPOOL_TRY(const auto copy, measure(seconds, [&]() -> Result<void> {
                for (const auto& record : sample.records) {
                  buffer.resize(record.size());
                  std::memcpy(buffer.data(), record.data(), record.size());
                }
                return ok();
              }));
  figures.push_back({"memcpy", "", copy});
  RESPOOL_TRY(const auto decode, measure(seconds, [&]() -> Result<void> {
                std::uint64_t sessions = 0;
                for (const auto& record : sample.records)
                  sessions += decode_record(record).session.size();
                return sessions == UINT64_MAX ? Result<void>(Error(ErrorCode::Io, "")) : ok();
              }));
  figures.push_back({"decode", "memcpy", decode});
  RESPOOL_TRY(const auto append, measure(seconds, [&]() -> Result<void> {
                ScratchStore scratch;
                RESPOOL_TRY(Store* const store, scratch.open());
                RESPOOL_TRY(fill(*store, sample));
                return store->close();
              }));
  figures.push_back({"ingest", "decode", append});

  ScratchStore scratch;
  RESPOOL_TRY(Store* const store, scratch.open());
  RESPOOL_TRY(fill(*store, sample));
  RESPOOL_TRY(const auto fold, measure(seconds, [&] { return rebuild_model(*store); }));
  figures.push_back({"rebuild", "decode", fold});
  const StoreReader reader(*store);
  RESPOOL_TRY(const auto sessions, reader.sessions());
  RESPOOL_TRY(const auto replay, measure(seconds, [&]() -> Result<void> {
                for (const auto& entry : sessions) {
                  RESPOOL_TRY(const auto transcript, read_transcript(reader, entry.number, {}));
                  buffer = render_replay(transcript, {}).text;
                }
                return ok();
              }));
  figures.push_back({"replay", "decode", replay});
  return figures;
}

}  // namespace

Result<ExitCode> run_bench(const Arguments& arguments, Context& context) {
  RESPOOL_TRY(const auto seconds, number_flag(arguments, "seconds", 1));
  RESPOOL_TRY(const auto sample, read_sample(arguments.value("FILE")));
  RESPOOL_TRY(const auto figures, run_all(sample, static_cast<double>(seconds)));
  std::map<std::string, double> known;
  Table table({"WORK", "RECORDS/S", "MB/S", "AGAINST"});
  for (const auto& figure : figures) {
    known[figure.name] = figure.seconds;
    const double records = static_cast<double>(sample.records.size()) / figure.seconds;
    const double megabytes = static_cast<double>(sample.record_bytes) / figure.seconds / 1e6;
    const double times = figure.against.empty() ? 1 : figure.seconds / known[figure.against];
    if (context.json()) {
      JsonObject json("respool.bench/1");
      json.text("work", figure.name)
          .raw("records_per_second", fmt::format("{:.0f}", records))
          .raw("mb_per_second", fmt::format("{:.1f}", megabytes));
      if (!figure.against.empty())
        json.text("against", figure.against).raw("times", fmt::format("{:.2f}", times));
      fmt::print("{}\n", json.str());
    } else {
      table.add(
          {figure.name,
           fmt::format("{:.0f}", records),
           fmt::format("{:.1f}", megabytes),
           figure.against.empty() ? "" : fmt::format("{:.2f} times {}", times, figure.against)});
    }
  }
  table.print(context.color());
  context.remark(fmt::format("{}, {:.1f} MB; CPU time of the process, the best of several passes",
                             counted(sample.records.size(), "record"),
                             static_cast<double>(sample.record_bytes) / 1e6));
  return ExitCode::Done;
}

}  // namespace respool
