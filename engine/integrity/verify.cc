#include "engine/integrity/verify.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "engine/facts/fold.h"
#include "engine/facts/step.h"
#include "engine/integrity/hash_chain.h"
#include "engine/log/event_log.h"
#include "engine/model/copies.h"
#include "engine/model/recorder.h"
#include "engine/storage/keys.h"
#include "engine/storage/seal.h"

namespace respool {
namespace {

std::string short_hex(std::string_view bytes) {
  return to_hex(bytes.substr(0, 6)) + "..";
}

class Verifier {
 public:
  Verifier(const Store& store, const std::optional<StreamName>& only)
      : store_(&store), view_(store.view()), only_(only) {}

  Result<VerifyReport> run() {
    // Reading on in a damaged file could end the process inside RocksDB.
    if (const auto files = store_->verify_files(); !files) {
      add("", std::nullopt, files.error().message());
      return std::move(report_);
    }
    RowCursor heads = view_.scan_prefix(Family::Index, keys::head_prefix());
    for (; heads.valid(); heads.next()) {
      const auto key = keys::parse_head(heads.key());
      auto head = decode<fb::StreamHeadT>(heads.value(), "the heads");
      if (!key || !head) {
        add("", std::nullopt, "the head of a stream is damaged");
        continue;
      }
      check_stream(*key, head.value());
    }
    if (const auto finished = heads.finish(); !finished)
      add("", std::nullopt, finished.error().message());
    if (!only_) {
      check_log_is_headed();
      check_positions();
      check_checkpoint();
    }
    check_model();
    // Numbers are local to a store; names and origins are not, so that two reports can be compared.
    std::ranges::sort(report_.heads, {}, [](const HeadLine& head) {
      return std::tie(head.kind, head.stream, head.origin);
    });
    return std::move(report_);
  }

 private:
  void add(std::string stream, std::optional<EventNumber> event, std::string what) {
    report_.damages.push_back({std::move(stream), event, std::move(what)});
  }

  void check_stream(const keys::HeadKey& key, const fb::StreamHeadT& head) {
    const auto name = stream_of(view_, key.session);
    const auto origin = origin_id(view_, key.origin);
    if (!name || !origin) {
      add("", std::nullopt, fmt::format("stream {} has no name or origin", key.session.value));
      return;
    }
    if (only_ && *only_ != name.value()) return;
    streams_.emplace(key.session.value, name.value());
    headed_.emplace(key.session.value, key.origin.value);
    walk_chain(key, head, name.value(), origin.value());
    report_.heads.push_back({name.value().text,
                             name.value().kind,
                             origin.value(),
                             head.events,
                             to_hex(bytes_of(head.chain))});
  }

  void walk_chain(const keys::HeadKey& key,
                  const fb::StreamHeadT& head,
                  const StreamName& name,
                  const std::string& origin) {
    const Sha256 start = chain_start(name, origin);
    std::string previous(as_bytes(start));
    std::uint64_t expected = 1;
    EventCursor events(view_, keys::stream_prefix(key.session, key.origin));
    for (;; ++expected) {
      auto next = events.next();
      if (!next) {
        add(name.text, EventNumber{expected}, next.error().message());
        return;
      }
      if (!next.value()) break;
      const StoredEvent& event = *next.value();
      if (event.event.value != expected) {
        add(name.text,
            EventNumber{expected},
            fmt::format("event {} stands where event {} should", event.event.value, expected));
        return;
      }
      ++report_.events;
      if (!check_link(name, event, previous) || !check_position(name, event)) return;
      previous = bytes_of(event.header.chain);
    }
    if (expected - 1 != head.events) {
      add(name.text,
          EventNumber{expected},
          fmt::format("the head counts {} events, the log has {}", head.events, expected - 1));
    } else if (previous != bytes_of(head.chain)) {
      add(name.text, EventNumber{head.events}, "the head's chain is not that of the last event");
    }
  }

  bool check_link(const StreamName& name, const StoredEvent& event, const std::string& previous) {
    const bool erased = !event.header.commitment.empty();
    Sha256 commitment{};
    if (erased) {
      std::copy_n(event.header.commitment.begin(),
                  std::min<std::size_t>(32, event.header.commitment.size()),
                  commitment.begin());
    } else {
      commitment = commitment_of(bytes_of(event.header.salt), sha256(event.raw));
    }
    const Sha256 chain = chain_next(previous, event.header, commitment);
    if (as_bytes(chain) == bytes_of(event.header.chain)) return true;
    add(name.text,
        event.event,
        fmt::format(
            "checksum differs (stored {}, computed {}): the event or one before it was changed",
            short_hex(bytes_of(event.header.chain)),
            short_hex(as_bytes(chain))));
    return false;
  }

  // The event's place across all streams must lead back to it.
  bool check_position(const StreamName& name, const StoredEvent& event) {
    const auto row = view_.get(Family::Index, keys::position(event.position()));
    const std::string here = keys::encode_location({event.session, event.origin, event.event});
    if (row && row.value() == here) return true;
    add(name.text,
        event.event,
        fmt::format("position {} does not lead to it", event.header.position));
    return false;
  }

  // Events of streams that have no head would be read by nobody.
  void check_log_is_headed() {
    EventCursor events(view_, "");
    std::set<std::pair<std::uint64_t, std::uint64_t>> reported;
    while (true) {
      auto next = events.next();
      if (!next || !next.value()) return;  // damage was reported by the stream's own walk
      const std::pair<std::uint64_t, std::uint64_t> stream{next.value()->session.value,
                                                           next.value()->origin.value};
      if (headed_.contains(stream) || !reported.insert(stream).second) continue;
      add("",
          next.value()->event,
          fmt::format("stream {}/{} has events but no head", stream.first, stream.second));
    }
  }

  void check_positions() {
    std::uint64_t expected = 1;
    RowCursor rows = view_.scan_prefix(Family::Index, keys::position_prefix());
    for (; rows.valid(); rows.next(), ++expected) {
      if (keys::decode_number(rows.key().substr(1)) == expected) continue;
      add("", std::nullopt, fmt::format("position {} is missing", expected));
      return;
    }
    if (const auto finished = rows.finish(); !finished)
      add("", std::nullopt, finished.error().message());
    if (expected - 1 != report_.events && report_.damages.empty()) {
      add("",
          std::nullopt,
          fmt::format("{} positions for {} events", expected - 1, report_.events));
    }
  }

  void check_checkpoint() {
    const auto checkpoint = read_checkpoint(view_);
    if (!checkpoint) return add("", std::nullopt, checkpoint.error().message());
    if (checkpoint.value().position != report_.events && report_.damages.empty()) {
      add("",
          std::nullopt,
          fmt::format("the model is folded up to {}, the log has {}",
                      checkpoint.value().position,
                      report_.events));
    }
  }

  // Facts against a fresh fold, steps against facts, totals and rollups against steps.
  void check_model() {
    std::map<std::string, fb::UsageRowT> rollups;
    for (const auto& [number, name] : streams_) {
      const auto stored = load_session(view_, Family::Model, {number}, name);
      auto fresh = fold_session(view_, {number});
      if (!stored || !fresh) {
        add(name.text, std::nullopt, (stored ? fresh.error() : stored.error()).message());
        continue;
      }
      check_facts(name, stored.value().facts, fresh.value());
      check_steps(name, number, stored.value(), rollups);
    }
    if (only_) return;
    check_rollups(rollups);
    check_copies();
  }

  // Whose spending each group of equal steps is, decided anew from the group's members.
  void check_copies() {
    std::optional<CopyGroup> group;
    CopyMembers members;
    RowCursor rows = view_.scan_prefix(Family::Model, keys::table_prefix(keys::Table::Copies));
    for (; rows.valid(); rows.next()) {
      const auto key = keys::parse_copy_member(rows.key());
      auto member = decode<fb::CopyMemberT>(rows.value(), "copies");
      if (!key || !member) return add("", std::nullopt, "the model's copies are damaged");
      if (group != key->group) {
        check_group(members);
        members.clear();
        group = key->group;
      }
      members.emplace(StepId{key->session.value, std::string(key->message)},
                      std::move(member.value()));
    }
    check_group(members);
  }

  void check_group(const CopyMembers& members) {
    const std::uint64_t owner = owner_of(members);
    for (const auto& [id, member] : members) {
      const auto row = view_.get(Family::Model, keys::step({id.first}, id.second));
      const bool copied = is_copy(id, member, owner);
      if (row && row.value()) {
        const auto step = decode<fb::StepRowT>(*row.value(), "step");
        if (step && step.value().copied == copied && step.value().owner == (copied ? owner : 0))
          continue;
      }
      add(member.session,
          std::nullopt,
          fmt::format("step {} is counted with the wrong session", id.second));
    }
  }

  void check_facts(const StreamName& name, const SessionFacts& stored, const SessionFacts& fresh) {
    const auto same_messages = [](const MessageFacts& a, const MessageFacts& b) {
      return a.row == b.row && a.parts == b.parts;
    };
    bool same = stored.session == fresh.session && stored.asks == fresh.asks &&
                stored.commands == fresh.commands && stored.errors == fresh.errors &&
                stored.prompts == fresh.prompts && stored.runs == fresh.runs &&
                stored.problems == fresh.problems && stored.sequence == fresh.sequence;
    std::string where = "the session's rows";
    for (const auto& [id, message] : fresh.messages) {
      const auto known = stored.messages.find(id);
      const bool empty = !message.row && message.parts.empty();
      if (empty || (known != stored.messages.end() && same_messages(known->second, message)))
        continue;
      same = false;
      where = id;
    }
    for (const auto& [id, message] : stored.messages) {
      if (fresh.messages.contains(id)) continue;
      same = false;
      where = id;
    }
    if (!same)
      add(name.text, std::nullopt, fmt::format("the model differs from a fresh fold at {}", where));
  }

  void check_steps(const StreamName& name,
                   std::uint64_t number,
                   const ModelSession& stored,
                   std::map<std::string, fb::UsageRowT>& rollups) {
    fb::UsageRowT sum;
    std::size_t steps = 0;
    for (const auto& [id, message] : stored.facts.messages) {
      auto fresh = step_of(stored.facts, id, message);
      if (!fresh) continue;
      ++steps;
      const auto known = stored.steps.find(id);
      if (known == stored.steps.end())
        return add(name.text, std::nullopt, fmt::format("step {} is missing", id));
      fresh->copied = known->second.copied;
      fresh->owner = known->second.owner;
      if (*fresh != known->second)
        return add(name.text, std::nullopt, fmt::format("step {} differs from its facts", id));
      add_usage(sum, contribution(*fresh));
      add_usage(
          rollups[keys::rollup(bucket_of(fresh->time_ms), {number}, rollup_dimensions(*fresh))],
          contribution(*fresh));
    }
    if (steps != stored.steps.size())
      return add(name.text, std::nullopt, "a step without its message");
    const auto row = view_.get(Family::Model, keys::totals_row({number}));
    if (!row || !row.value()) {
      if (!is_zero(sum)) add(name.text, std::nullopt, "the session's totals are missing");
      return;
    }
    const auto totals = decode<fb::TotalsRowT>(*row.value(), "totals");
    if (!totals || !totals.value().usage || *totals.value().usage != sum) {
      add(name.text, std::nullopt, "the session's totals are not the sum of its steps");
    }
  }

  void check_rollups(const std::map<std::string, fb::UsageRowT>& computed) {
    std::size_t rows = 0;
    std::size_t expected = 0;
    for (const auto& [key, usage] : computed)
      expected += is_zero(usage) ? 0 : 1;
    RowCursor cursor = view_.scan_prefix(Family::Model, keys::table_prefix(keys::Table::Rollups));
    for (; cursor.valid(); cursor.next(), ++rows) {
      const auto stored = decode<fb::UsageRowT>(cursor.value(), "rollups");
      const auto known = computed.find(std::string(cursor.key()));
      if (stored && known != computed.end() && known->second == stored.value()) continue;
      return add("", std::nullopt, "a rollup is not the sum of its steps");
    }
    if (rows != expected) add("", std::nullopt, "a rollup is missing");
  }

  const Store* store_;
  ReadView view_;
  std::optional<StreamName> only_;
  VerifyReport report_;
  std::map<std::uint64_t, StreamName> streams_;
  std::set<std::pair<std::uint64_t, std::uint64_t>> headed_;
};

}  // namespace

Result<VerifyReport> verify_store(const Store& store, const std::optional<StreamName>& only) {
  return Verifier(store, only).run();
}

Result<SealReport> verify_seal(const std::filesystem::path& directory) {
  const auto state = check_seal(directory);
  if (state) return SealReport{std::nullopt, state.value() == SealState::Whole};
  if (state.error().code() != ErrorCode::Corruption) return state.error();
  return SealReport{Damage{"", std::nullopt, state.error().message()}, true};
}

Result<std::string> chain_after(const ReadView& view,
                                const StreamName& stream,
                                std::string_view origin,
                                std::uint64_t events) {
  RESPOOL_TRY(const auto session, find_stream(view, stream));
  RESPOOL_TRY(const auto number, view.get(Family::Index, keys::origin_name(origin)));
  if (!session || !number) return Error(ErrorCode::NotFound, "the stream is gone");
  if (events == 0) {
    const Sha256 start = chain_start(stream, origin);
    return to_hex(as_bytes(start));
  }
  RESPOOL_TRY(const auto event,
              read_event(view, *session, {keys::decode_number(*number).value_or(0)}, {events}));
  return to_hex(bytes_of(event.header.chain));
}

}  // namespace respool
