#include "query/export/bundle.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "schema/opencode/plain_text.h"

#include "engine/log/event_log.h"
#include "engine/log/stream_cursor.h"
#include "engine/storage/keys.h"

namespace respool {
namespace {

// One stream, or the end of one, as it will stand in the bundle.
struct PlannedStream {
  StreamName name;
  SessionNumber session;
  OriginNumber origin;
  std::string origin_id;
  EventNumber first{1};
  EventNumber last;
  std::vector<std::uint8_t> head;
};

class BundleExport {
 public:
  BundleExport(const StoreReader& reader, const BundleRequest& request, const ByteSink& sink)
      : view_(&reader.view()), request_(&request), out_(sink) {}

  Result<BundleReport> run() {
    RESPOOL_TRY(report_.until, last_position(*view_));
    if (request_->since && *request_->since > report_.until) {
      return Error(ErrorCode::InvalidArgument,
                   fmt::format("the store ends at {}, before {}",
                               format_cursor(report_.until),
                               format_cursor(*request_->since)),
                   "give a cursor that this store printed");
    }
    RESPOOL_TRY(find_new_events());
    RESPOOL_TRY(plan());
    RESPOOL_TRY(out_.begin());
    RESPOOL_TRY(write_head());
    for (const auto& stream : streams_) {
      RESPOOL_TRY(write_stream(stream));
    }
    const BundleTotals totals{report_.streams, report_.events, report_.raw_bytes};
    RESPOOL_TRY(out_.finish(totals));
    report_.bytes = out_.bytes_written();
    return std::move(report_);
  }

 private:
  using StreamNumbers = std::pair<SessionNumber, OriginNumber>;

  // The first event of each stream that was recorded after the cursor.
  Result<void> find_new_events() {
    if (!request_->since) return ok();
    RowCursor rows = view_->scan(Family::Index,
                                 keys::position({request_->since->value + 1}),
                                 keys::after_prefix(keys::position_prefix()));
    for (; rows.valid(); rows.next()) {
      const auto key = keys::decode_location(rows.value());
      if (!key)
        return Error(
            ErrorCode::Corruption, "a position of the log is damaged", "run \"respool verify\"");
      first_new_.try_emplace({key->session, key->origin}, key->event);
    }
    return rows.finish();
  }

  Result<void> plan() {
    if (!request_->all) {
      for (const auto& session : request_->sessions) {
        const StreamName name{StreamKind::Session, session};
        RESPOOL_TRY(const auto number, find_stream(*view_, name));
        if (!number)
          return Error(ErrorCode::NotFound,
                       fmt::format("no session is called \"{}\"", plain_text(session)),
                       "respool sessions");
        RESPOOL_TRY(plan_streams(name, *number));
      }
      return ok();
    }
    for (const StreamKind kind : {StreamKind::Host, StreamKind::Session}) {
      const std::string prefix = keys::stream_name_prefix(kind);
      RowCursor rows = view_->scan_prefix(Family::Index, prefix);
      for (; rows.valid(); rows.next()) {
        const StreamName name{kind, std::string(rows.key().substr(prefix.size()))};
        RESPOOL_TRY(plan_streams(name, {keys::decode_number(rows.value()).value_or(0)}));
      }
      RESPOOL_TRY(rows.finish());
    }
    return ok();
  }

  // The streams of one name, by the ids of their origins.
  Result<void> plan_streams(const StreamName& name, SessionNumber session) {
    std::vector<PlannedStream> found;
    RowCursor heads = view_->scan_prefix(Family::Index, keys::session_heads_prefix(session));
    for (; heads.valid(); heads.next()) {
      const auto key = keys::parse_head(heads.key());
      if (!key)
        return Error(ErrorCode::Corruption,
                     fmt::format("the head of stream {} is damaged", session.value),
                     "run \"respool verify\"");
      RESPOOL_TRY(const auto head, decode<fb::StreamHeadT>(heads.value(), "the heads"));
      PlannedStream stream;
      stream.name = name;
      stream.session = session;
      stream.origin = key->origin;
      RESPOOL_TRY(stream.origin_id, origin_id(*view_, key->origin));
      stream.last = {head.events};
      stream.head = head.chain;
      if (request_->since) {
        const auto first = first_new_.find({session, key->origin});
        if (first == first_new_.end()) continue;
        stream.first = first->second;
      }
      found.push_back(std::move(stream));
    }
    RESPOOL_TRY(heads.finish());
    if (found.empty()) return ok();
    if (!is_bundle_name(static_cast<char>(name.kind), name.text)) {
      report_.left_out.push_back(name.text);
      return ok();
    }
    std::ranges::sort(found, {}, &PlannedStream::origin_id);
    report_.sessions += name.kind == StreamKind::Session ? 1 : 0;
    report_.streams += found.size();
    for (auto& stream : found) {
      report_.events += stream.last.value - stream.first.value + 1;
      streams_.push_back(std::move(stream));
    }
    return ok();
  }

  template <class Row>
  Result<void> write_row(BundleRecord kind, const Row& row) {
    const std::string bytes = encode(row);
    const std::string record =
        std::string(1, static_cast<char>(kind)) + big_endian<4>(bytes.size()) + bytes;
    return out_.write(record);
  }

  Result<void> write_head() {
    const auto& meta = view_->store().meta();
    fb::BundleHeadT head;
    head.origin = meta.origin;
    head.host = meta.origin_host;
    head.respool = RESPOOL_VERSION;
    head.sessions = report_.sessions;
    head.streams = report_.streams;
    head.events = report_.events;
    head.since = request_->since.has_value();
    return write_row(BundleRecord::Head, head);
  }

  Result<void> write_stream(const PlannedStream& planned) {
    fb::BundleStreamT row;
    row.kind = static_cast<std::uint8_t>(planned.name.kind);
    row.name = planned.name.text;
    row.origin = planned.origin_id;
    RESPOOL_TRY(row.origin_host, origin_host(*view_, planned.origin));
    row.first = planned.first.value;
    row.last = planned.last.value;
    row.head = planned.head;
    if (planned.first.value > 1) {
      const EventNumber before{planned.first.value - 1};
      StreamCursor cursor(*view_, planned.session, planned.origin, before);
      RESPOOL_TRY(const auto header, cursor.next());
      if (!header) return missing(planned, before);
      row.before = header->chain;
    }
    RESPOOL_TRY(write_row(BundleRecord::Stream, row));

    StreamCursor events(*view_, planned.session, planned.origin, planned.first);
    std::vector<std::uint8_t> chain;
    for (std::uint64_t number = planned.first.value; number <= planned.last.value; ++number) {
      RESPOOL_TRY(auto header, events.next());
      if (!header) return missing(planned, {number});
      chain = header->chain;
      RESPOOL_TRY(write_event(planned, *header, events));
    }
    if (chain == planned.head) return ok();
    return Error(ErrorCode::Corruption,
                 fmt::format("stream {}: event {}: the head's chain is not that of the last event",
                             plain_text(planned.name.text),
                             planned.last.value),
                 "run \"respool verify\"");
  }

  Result<void> write_event(const PlannedStream& planned,
                           fb::EventHeaderT& header,
                           StreamCursor& events) {
    RESPOOL_TRY(const std::uint64_t size, events.raw_bytes());
    // What is local to this store stays here.
    header.chunks = 0;
    header.position = 0;
    header.recording = 0;
    header.place = 0;
    const std::string encoded = encode(header);
    if (encoded.size() > kMaxBundleHeaderBytes || size > kMaxBundleRawBytes) {
      return Error(ErrorCode::InvalidArgument,
                   fmt::format("stream {}: event {} is too large for a bundle",
                               plain_text(planned.name.text),
                               events.event().value),
                   "export the other sessions by name");
    }
    std::string record(1, static_cast<char>(BundleRecord::Event));
    record += big_endian<4>(encoded.size());
    record += big_endian<8>(size);
    record += encoded;
    RESPOOL_TRY(out_.write(record));
    std::uint64_t written = 0;
    while (true) {
      RESPOOL_TRY(const std::string_view piece, events.piece());
      if (piece.empty()) break;
      written += piece.size();
      RESPOOL_TRY(out_.write(piece));
    }
    if (written != size) return missing(planned, events.event());
    report_.raw_bytes += size;
    return ok();
  }

  static Error missing(const PlannedStream& planned, EventNumber event) {
    return Error(
        ErrorCode::Corruption,
        fmt::format("stream {}: event {} is not whole", plain_text(planned.name.text), event.value),
        "run \"respool verify\"");
  }

  const ReadView* view_;
  const BundleRequest* request_;
  BundleWriter out_;
  BundleReport report_;
  std::map<StreamNumbers, EventNumber> first_new_;
  std::vector<PlannedStream> streams_;
};

}  // namespace

Result<BundleReport> write_bundle(const StoreReader& reader,
                                  const BundleRequest& request,
                                  const ByteSink& sink) {
  return BundleExport(reader, request, sink).run();
}

Result<std::set<std::string>> with_children(const StoreReader& reader,
                                            const std::set<std::string>& sessions) {
  RESPOOL_TRY(const auto all, reader.sessions());
  std::multimap<std::string, std::string> children;
  std::set<std::string> known;
  for (const auto& entry : all) {
    known.insert(entry.row.id);
    if (!entry.row.parent.empty()) children.emplace(entry.row.parent, entry.row.id);
    for (const auto& child : entry.totals.children)
      children.emplace(entry.row.id, child);
  }
  std::set<std::string> wanted = sessions;
  std::vector<std::string> waiting(sessions.begin(), sessions.end());
  while (!waiting.empty()) {
    const std::string session = std::move(waiting.back());
    waiting.pop_back();
    const auto [first, last] = children.equal_range(session);
    for (auto child = first; child != last; ++child) {
      if (known.contains(child->second) && wanted.insert(child->second).second)
        waiting.push_back(child->second);
    }
  }
  return wanted;
}

}  // namespace respool
