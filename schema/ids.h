#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace respool {

// A number that cannot be mistaken for another kind of number.
template <class Tag>
struct StrongNumber {
  std::uint64_t value = 0;
  friend auto operator<=>(StrongNumber, StrongNumber) = default;
};

// A text that cannot be mistaken for another kind of text.
template <class Tag>
class StrongText {
 public:
  StrongText() = default;
  explicit StrongText(std::string text) : text_(std::move(text)) {}
  const std::string& str() const { return text_; }
  bool empty() const { return text_.empty(); }
  friend auto operator<=>(const StrongText&, const StrongText&) = default;

 private:
  std::string text_;
};

using SessionId = StrongText<struct SessionIdTag>;  // OpenCode's, as in "ses_..."
using OriginId = StrongText<struct OriginIdTag>;    // 32 hex digits: the store that recorded first

using SessionNumber = StrongNumber<struct SessionNumberTag>;  // local to a store, from 1
using OriginNumber = StrongNumber<struct OriginNumberTag>;    // local to a store, from 1
using EventNumber = StrongNumber<struct EventNumberTag>;      // 1-based place in one stream
using LogPosition = StrongNumber<struct LogPositionTag>;      // place across all streams, from 1

// What a stream is about. The kind is part of its name, so that no session id can pretend to be
// another kind of stream.
enum class StreamKind : char { Session = 's', Host = 'h' };

struct StreamName {
  StreamKind kind = StreamKind::Session;
  std::string text;
  friend auto operator<=>(const StreamName&, const StreamName&) = default;
};

// True for texts that may name a message, a part or a request: printable, and of bounded length.
inline bool is_plain_id(std::string_view text) {
  if (text.empty() || text.size() > 256) return false;
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) return false;
  }
  return true;
}

// True for ids that may name a session: a letter or digit, then at most 255 of [A-Za-z0-9._:-].
inline bool is_session_id(std::string_view text) {
  const auto alphanumeric = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  if (text.empty() || text.size() > 256 || !alphanumeric(text.front())) return false;
  for (const char c : text) {
    if (!alphanumeric(c) && c != '.' && c != '_' && c != ':' && c != '-') return false;
  }
  return true;
}

}  // namespace respool
