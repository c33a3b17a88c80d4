#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/log/event_log.h"
#include "engine/log/stream_cursor.h"
#include "engine/model/recorder.h"

#include "ingest/source/bundle_source.h"

namespace respool {

// What became of a bundle's events.
struct BundleCounts {
  std::uint64_t appended = 0;
  std::uint64_t held = 0;       // the store had them
  std::vector<Error> problems;  // at most kMaxProblems of them
  std::uint64_t refused = 0;    // how many there were
  bool interrupted = false;

  static constexpr std::size_t kMaxProblems = 20;
};

// Takes the streams of a bundle into a store: of each what goes beyond what the store holds of it,
// if all that it holds is what the bundle says.
//
// Threads:   one at a time.
// Ownership: borrows recorder and source.
// Errors:    those of the recorder; Io where the bundle cannot be read; UnsupportedFormat where a
//            newer build wrote it. A bundle that is damaged or a stream that does not fit is no
//            error: it is among the problems, and what could be taken is kept.
class BundleReceiver {
 public:
  // Called before the first event is appended; gives the recording they came in.
  using Recording = std::function<Result<std::uint32_t>()>;
  // Called with the name of each stream.
  using Seen = std::function<void(const StreamName&)>;
  using Stopped = std::function<bool()>;

  BundleReceiver(Recorder& recorder, BundleSource& source, Recording recording, Seen seen)
      : recorder_(&recorder),
        source_(&source),
        recording_(std::move(recording)),
        seen_(std::move(seen)) {}

  // Reads the source to its end, or until `stopped` says so.
  Result<void> run(const Stopped& stopped);
  const BundleCounts& counts() const { return counts_; }

 private:
  Result<void> take(BundleSource::Item item);
  Result<void> begin_stream();
  Result<void> take_event();
  Result<bool> equals_held(EventNumber number, std::string_view chain);
  void refuse(Error problem);
  Error differs(EventNumber number) const;

  Recorder* recorder_;
  BundleSource* source_;
  Recording recording_;
  Seen seen_;
  BundleCounts counts_;
  std::optional<std::uint32_t> recording_number_;
  // Of the stream being read:
  bool refused_ = false;
  HeldStream held_;
  std::optional<ReadView> view_;
  std::optional<StreamCursor> ours_;  // over the events the store holds
};

}  // namespace respool
