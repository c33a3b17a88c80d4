#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include <unistd.h>

#include <fmt/format.h>

#include "ingest/bundle_receiver.h"
#include "ingest/ingester.h"

namespace respool {

bool begins_as_bundle(std::string_view beginning) {
  // One that breaks off so early is one still, where enough of it is there.
  constexpr std::size_t kEnough = 8;
  const std::string_view mark = kBundleMark.substr(0, beginning.size());
  return mark.size() >= kEnough && beginning.starts_with(mark);
}

Result<void> Ingester::read_bundle(int file, const std::string& name, std::string beginning) {
  if (!options_.host.empty() || !options_.run.empty() || options_.prompt) {
    return Error(ErrorCode::InvalidArgument,
                 fmt::format("{} is a bundle, whose events say where they come from", name),
                 "leave out --host, --run and --prompt-file");
  }
  const auto stopped = [this] { return options_.stop != nullptr && options_.stop->load(); };
  const auto more = [&](char* buffer, std::size_t size) -> Result<std::size_t> {
    if (!beginning.empty()) {
      const std::size_t taken = std::min(size, beginning.size());
      std::memcpy(buffer, beginning.data(), taken);
      beginning.erase(0, taken);
      counts_.bytes += taken;
      return taken;
    }
    while (true) {
      const ssize_t got = ::read(file, buffer, size);
      if (got >= 0) {
        counts_.bytes += static_cast<std::size_t>(got);
        if (options_.progress) options_.progress(counts_.bytes);
        return static_cast<std::size_t>(got);
      }
      if (errno != EINTR)
        return Error(ErrorCode::Io,
                     fmt::format("read {}: {}", name, std::generic_category().message(errno)));
      if (stopped()) return Error(ErrorCode::Interrupted, "interrupted");
    }
  };
  BundleSource source(more, name);
  const auto recording = [&]() -> Result<std::uint32_t> {
    fb::RecordingT row;
    row.name = name;
    row.host = source.head().host;
    row.first_received_ms = options_.now_ms();
    return recorder_->add_recording(row);
  };
  BundleReceiver receiver(*recorder_, source, recording, [this](const StreamName& stream) {
    if (stream.kind == StreamKind::Session) counts_.sessions.insert(stream.text);
  });
  RESPOOL_TRY(receiver.run(stopped));
  const auto& counts = receiver.counts();
  counts_.appended += counts.appended;
  counts_.duplicates += counts.held;
  counts_.observations += counts.appended + counts.held;
  counts_.problems.insert(counts_.problems.end(), counts.problems.begin(), counts.problems.end());
  counts_.refused += counts.refused;
  counts_.interrupted |= counts.interrupted;
  return ok();
}

}  // namespace respool
