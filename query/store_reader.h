#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "schema/opencode/record.h"

#include "engine/facts/session_facts.h"
#include "engine/log/event_log.h"
#include "engine/model/recorder.h"

#include "query/zone.h"

namespace respool {

// One session's rows as lists show them.
struct SessionEntry {
  SessionNumber number;
  fb::SessionRowT row;
  fb::TotalsRowT totals;
};

// A point in a session's history.
struct Point {
  FoldUntil until;
  std::string message;                      // "": all messages
  bool before = false;                      // leaves `message` out
  std::optional<OriginNumber> branch = {};  // where origins went on apart: whose branch
};

// Reads a point as the command line takes it: a cursor ("c12"), a message id, or a time.
Result<Point> parse_point(std::string_view text,
                          bool before,
                          const Zone& zone,
                          std::int64_t now_ms);

std::string format_cursor(LogPosition position);
std::optional<LogPosition> parse_cursor(std::string_view text);

// Answers from one fixed view of a store.
//
// Threads:   one at a time.
// Ownership: the store must outlive it.
// Errors:    NotFound and Ambiguous name the session asked for.
class StoreReader {
 public:
  explicit StoreReader(const Store& store) : view_(store.view()) {}

  const ReadView& view() const { return view_; }

  // All sessions, in the order the store first saw them.
  Result<std::vector<SessionEntry>> sessions() const;
  Result<SessionEntry> session(SessionNumber number) const;

  // The session that `text` names: an id, an unambiguous prefix of one, "@last" (the newest root
  // session of `directory`) or "@last:any" (of all).
  Result<SessionEntry> find(const std::string& text, const std::string& directory) const;
  // The origin whose id starts so, or whose store is on the host of that name.
  Result<OriginNumber> find_origin(const std::string& text) const;
  Result<std::optional<SessionNumber>> number_of(const std::string& id) const;

  Result<SessionFacts> facts(SessionNumber number) const;
  Result<SessionFacts> facts_at(SessionNumber number, const Point& point) const;
  Result<std::vector<fb::StepRowT>> steps(SessionNumber number) const;
  // The streams of what belongs to no session.
  Result<std::vector<SessionNumber>> host_streams() const;

  // The delivered bytes a fact came from, and the texts in them.
  Result<StoredEvent> event(SessionNumber number, const fb::EventRef& ref) const;
  Result<Content> content(SessionNumber number, const fb::EventRef& ref) const;

  // True where this build would fold the log to other facts.
  Result<bool> model_is_stale() const;

 private:
  ReadView view_;
};

// The sessions that have `root` above them, itself first. Cycles end where they close.
std::vector<const SessionEntry*> tree_of(const std::vector<SessionEntry>& all,
                                         const std::string& root);

// The session at the top of a session's chain of parents, as far as the store knows them.
std::string root_of(const std::map<std::string, const SessionEntry*>& by_id,
                    const SessionEntry& entry);
std::map<std::string, const SessionEntry*> by_id(const std::vector<SessionEntry>& all);

}  // namespace respool
