#include "query/replay/context.h"

#include <set>

namespace respool {
namespace {

// A session that continues one that continues one: this far back, and children this deep.
constexpr std::size_t kMaxDepth = 16;

class ContextReader {
 public:
  ContextReader(const StoreReader& reader, bool children) : reader_(&reader), children_(children) {}

  Result<Transcript> read(SessionNumber number, const Point& point) {
    RESPOOL_TRY(auto transcript, read_transcript(*reader_, number, point));
    open_.insert(transcript.session);
    std::vector<TranscriptItem> items = std::move(transcript.items);
    transcript.items.clear();
    for (auto& item : items) {
      const bool is_replay = item.kind == "replay";
      const bool has_child = children_ && item.kind == "tool" && !item.child_session.empty();
      if (!item.removed && is_replay) {
        RESPOOL_TRY(const auto other, read_other(item.child_session, item.title));
        if (other) {
          append(*other, "", transcript);
          continue;
        }
      }
      const std::string child = has_child && !item.removed ? item.child_session : "";
      transcript.items.push_back(std::move(item));
      if (child.empty()) continue;
      RESPOOL_TRY(const auto other, read_other(child, ""));
      if (other) append(*other, child, transcript);
    }
    open_.erase(transcript.session);
    return transcript;
  }

 private:
  // Another session up to `message`; nothing where it is not here, or is being read already.
  Result<std::optional<Transcript>> read_other(const std::string& session,
                                               const std::string& message) {
    if (open_.size() >= kMaxDepth || open_.contains(session)) return std::optional<Transcript>();
    RESPOOL_TRY(const auto number, reader_->number_of(session));
    if (!number) return std::optional<Transcript>();
    Point point;
    point.message = message;
    auto transcript = read(*number, point);
    if (transcript) return std::optional(std::move(transcript).value());
    open_.erase(session);
    if (transcript.error().code() == ErrorCode::NotFound) return std::optional<Transcript>();
    return transcript.error();
  }

  static void append(const Transcript& other, const std::string& child, Transcript& transcript) {
    for (const auto& item : other.items) {
      transcript.items.push_back(item);
      auto& own = transcript.items.back();
      if (own.child_of.empty()) own.child_of = child;
    }
    transcript.patched.insert(
        transcript.patched.begin(), other.patched.begin(), other.patched.end());
  }

  const StoreReader* reader_;
  bool children_;
  std::set<std::string> open_;
};

}  // namespace

Result<Transcript> read_context(const StoreReader& reader,
                                SessionNumber number,
                                const Point& point,
                                bool children) {
  return ContextReader(reader, children).read(number, point);
}

}  // namespace respool
