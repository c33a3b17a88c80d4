#include "ingest/bundle_receiver.h"

#include <utility>

#include <fmt/format.h>

#include "schema/opencode/plain_text.h"

namespace respool {
namespace {

std::string title_of(const BundleStream& stream) {
  std::string title = fmt::format(
      "stream {} of origin {}", plain_text(stream.name.text), stream.origin.id.substr(0, 8));
  if (!stream.origin.host.empty()) title += fmt::format(" ({})", plain_text(stream.origin.host));
  return title;
}

}  // namespace

Result<void> BundleReceiver::run(const Stopped& stopped) {
  // What is held is compared in a view, which sees only what was written.
  RESPOOL_TRY(recorder_->commit());
  auto read = source_->begin();
  while (read && !stopped()) {
    const auto item = source_->next();
    if (!item) {
      read = item.error();
      break;
    }
    if (item.value() == BundleSource::Item::End) break;
    RESPOOL_TRY(take(item.value()));
  }
  counts_.interrupted = stopped();
  if (!read && read.error().code() == ErrorCode::Corruption) {
    refuse(read.error());
  } else if (!read && read.error().code() != ErrorCode::Interrupted) {
    return read.error();
  }
  ours_.reset();
  view_.reset();
  return recorder_->commit();
}

Result<void> BundleReceiver::take(BundleSource::Item item) {
  if (item == BundleSource::Item::Stream) return begin_stream();
  if (refused_) return ok();
  if (item == BundleSource::Item::Event) return take_event();
  refuse(source_->problem());
  return ok();
}

void BundleReceiver::refuse(Error problem) {
  refused_ = true;
  ++counts_.refused;
  if (counts_.problems.size() < BundleCounts::kMaxProblems)
    counts_.problems.push_back(std::move(problem));
}

Error BundleReceiver::differs(EventNumber number) const {
  const auto& stream = source_->stream();
  const bool own = stream.origin.id == recorder_->store().meta().origin;
  return Error(ErrorCode::Corruption,
               fmt::format("{}: event {} is another one here: {}; nothing of it was taken",
                           title_of(stream),
                           number.value,
                           own ? "this store went on after it was set back to an older state"
                               : "one of the two stores was changed"),
               "compare \"respool verify --report\" of both stores");
}

Result<void> BundleReceiver::begin_stream() {
  const auto& stream = source_->stream();
  refused_ = false;
  seen_(stream.name);
  ours_.reset();
  view_.emplace(recorder_->store().view());
  RESPOOL_TRY(held_, find_held(*view_, stream.name, stream.origin.id));
  const std::uint64_t before = stream.first.value - 1;
  if (before > held_.events) {
    refuse(
        Error(ErrorCode::NotFound,
              fmt::format(
                  "{}: the bundle continues it after event {}, this store holds {}",
                  title_of(stream),
                  before,
                  held_.events == 0 ? "nothing of it" : fmt::format("its first {}", held_.events)),
              fmt::format("export it there without --since: respool export {} --output FILE",
                          stream.name.kind == StreamKind::Session ? stream.name.text : "--all")));
    return ok();
  }
  if (held_.events == 0) return ok();
  const EventNumber from{before == 0 ? 1 : before};
  ours_.emplace(*view_, held_.session, held_.origin, from);
  if (before == 0) return ok();
  RESPOOL_TRY(const bool equal, equals_held(from, stream.before));
  if (!equal) refuse(differs(from));
  return ok();
}

// Whether the store's next event of the stream has this chain, and so everything up to it.
Result<bool> BundleReceiver::equals_held(EventNumber number, std::string_view chain) {
  RESPOOL_TRY(const auto header, ours_->next());
  if (!header || ours_->event() != number)
    return Error(
        ErrorCode::Corruption,
        fmt::format(
            "{}: event {} is missing in this store", title_of(source_->stream()), number.value),
        "run \"respool verify\"");
  return bytes_of(header->chain) == chain;
}

Result<void> BundleReceiver::take_event() {
  const auto& event = source_->event();
  if (event.number.value <= held_.events) {
    RESPOOL_TRY(const bool equal, equals_held(event.number, bytes_of(event.header.chain)));
    if (!equal) {
      refuse(differs(event.number));
    } else {
      ++counts_.held;
    }
    return ok();
  }
  if (!recording_number_) {
    RESPOOL_TRY(recording_number_, recording_());
  }
  const auto& stream = source_->stream();
  RESPOOL_TRY(const auto at,
              recorder_->receive({.stream = stream.name,
                                  .origin = stream.origin,
                                  .header = event.header,
                                  .raw_digest = event.raw_digest,
                                  .raw = event.raw,
                                  .recording = *recording_number_,
                                  .place = event.place}));
  counts_.appended += at.duplicate ? 0 : 1;
  return ok();
}

}  // namespace respool
