#include "ingest/source/framer.h"

#include <algorithm>
#include <array>
#include <string>

#include "ingest/source/document.h"

namespace respool {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

std::string_view trimmed(std::string_view text) {
  const auto space = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!text.empty() && space(text.back()))
    text.remove_suffix(1);
  while (!text.empty() && space(text.front()))
    text.remove_prefix(1);
  return text;
}

std::string without_escape_sequences(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b' && i + 1 < text.size() && text[i + 1] == '[') {
      i += 2;
      while (i < text.size() && (text[i] < '@' || text[i] > '~'))
        ++i;
    } else {
      plain.push_back(text[i]);
    }
  }
  return plain;
}

// What OpenCode prints for people around the JSON it prints for programs.
bool is_talk(std::string_view text) {
  constexpr auto kTalk = std::to_array<std::string_view>({
      "Exporting session",
      "Performing one time database migration",
      "Database migration complete",
      "Warning: OPENCODE_SERVER_PASSWORD is not set",
      "opencode server listening on ",
      "! permission requested: ",
  });
  const std::string plain = without_escape_sequences(text);
  return std::any_of(
      kTalk.begin(), kTalk.end(), [&](std::string_view talk) { return plain.starts_with(talk); });
}

bool is_event_stream_field(std::string_view text) {
  return text.starts_with(':') || text.starts_with("event:") || text.starts_with("id:") ||
         text.starts_with("retry:");
}

bool looks_whole(std::string_view text) {
  return text.size() >= 2 && ((text.front() == '{' && text.back() == '}') ||
                              (text.front() == '[' && text.back() == ']'));
}

// True where a line may hold more than one record. Inside a string these quotes would be escaped.
bool may_be_document(std::string_view text) {
  return text.front() == '[' || text.find("\"messages\"") != std::string_view::npos ||
         text.find("\"parts\"") != std::string_view::npos ||
         text.find("\"info\"") != std::string_view::npos;
}

// Where a line that is a record of its own begins in text that broke off before it.
std::size_t find_record_line(std::string_view text) {
  for (auto at = text.find('\n'); at != std::string_view::npos; at = text.find('\n', at + 1)) {
    const std::string_view line = text.substr(at + 1, text.find('\n', at + 1) - at - 1);
    if (line.starts_with("data: {") || (line.starts_with("{\"") && looks_whole(trimmed(line))))
      return at + 1;
  }
  return std::string_view::npos;
}

}  // namespace

Result<void> Framer::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t newline = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, newline);
    if (newline == std::string_view::npos) {
      offset_ += piece.size();
      return line_.append(piece);
    }
    offset_ += piece.size() + 1;
    if (line_.empty()) {
      RESPOOL_TRY(line(piece, line_place_));
    } else {
      RESPOOL_TRY(line_.append(piece));
      RESPOOL_TRY(end_line());
    }
    line_place_ = offset_;
    bytes.remove_prefix(newline + 1);
  }
  return ok();
}

Result<void> Framer::end_line() {
  RESPOOL_TRY(const auto text, line_.view());
  RESPOOL_TRY(line(text, line_place_));
  line_.clear();
  return ok();
}

Result<void> Framer::finish() {
  if (!line_.empty()) {
    RESPOOL_TRY(end_line());
  }
  RESPOOL_TRY(end_document());
  return end_data();
}

Result<void> Framer::line(std::string_view text, std::uint64_t place) {
  if (text.ends_with('\r')) text.remove_suffix(1);
  if (in_document_) return document_line(text, place);
  if (text.find_first_not_of(" \t\r") == std::string_view::npos) return end_data();
  // A crashed disk leaves blocks of NUL before or after what is still good.
  if (text.front() == '\0' || text.back() == '\0') {
    const std::size_t begin = std::min(text.find_first_not_of('\0'), text.size());
    const std::size_t end = text.find_last_not_of('\0') + 1;
    if (begin > 0) {
      RESPOOL_TRY(emit(text.substr(0, begin), place, Shape::Malformed));
    }
    if (begin < end) {
      RESPOOL_TRY(line(text.substr(begin, end - begin), place + begin));
    }
    if (begin < end && end < text.size())
      return emit(text.substr(end), place + end, Shape::Malformed);
    return ok();
  }
  std::string_view content = text;
  if (place == 0 && content.starts_with(kByteOrderMark))
    content.remove_prefix(kByteOrderMark.size());
  if (content.starts_with("data:")) {
    in_event_stream_ = true;
    content.remove_prefix(content.starts_with("data: ") ? 6 : 5);
    return data_line(content, place + (text.size() - content.size()));
  }
  if (!data_.empty()) {
    RESPOOL_TRY(end_data());
  }
  if (is_event_stream_field(content))
    return in_event_stream_ ? Result<void>(ok()) : emit(text, place, Shape::Talk);
  const std::string_view inner = trimmed(content);
  if (!inner.empty() && (inner.front() == '{' || inner.front() == '['))
    return json_line(text, place);
  const bool talk = is_talk(content);
  // The banner and what it announces may come on one line, where two streams were joined.
  const auto object = talk ? text.find('{') : std::string_view::npos;
  if (object == std::string_view::npos)
    return emit(text, place, talk ? Shape::Talk : Shape::Malformed);
  RESPOOL_TRY(emit(text.substr(0, object), place, Shape::Talk));
  return json_line(text.substr(object), place + object);
}

// Data that is a whole object is a frame at once, so that a dump without blank lines reads too.
Result<void> Framer::data_line(std::string_view body, std::uint64_t place) {
  if (data_.empty() && looks_whole(trimmed(body))) return emit(body, place, {});
  if (data_.empty()) {
    data_place_ = place;
    return data_.append(body);
  }
  RESPOOL_TRY(data_.append("\n"));
  return data_.append(body);
}

Result<void> Framer::end_data() {
  if (data_.empty()) return ok();
  RESPOOL_TRY(const auto body, data_.view());
  RESPOOL_TRY(emit(body, data_place_, {}));
  data_.clear();
  return ok();
}

Result<void> Framer::json_line(std::string_view text, std::uint64_t place) {
  std::string_view inner = text;
  if (place == 0 && inner.starts_with(kByteOrderMark)) inner.remove_prefix(kByteOrderMark.size());
  inner = trimmed(inner);
  const std::uint64_t inner_place = place + static_cast<std::uint64_t>(inner.data() - text.data());
  if (looks_whole(inner)) {
    if (may_be_document(inner)) return cut_document(inner, inner_place, sink_);
    if (inner.find("}{") != std::string_view::npos) return objects_of_line(inner, inner_place);
    return emit(text, place, {});
  }
  open_.clear();
  last_ = '\0';
  // "[INFO] ..." is a line of somebody's log, not an array.
  const std::string_view second = trimmed(inner.substr(1));
  const bool opens = inner.front() == '{' || second.empty() || second.front() == '{';
  if (!opens || !follow(inner) || open_.empty()) return emit(text, place, Shape::Malformed);
  in_document_ = true;
  document_place_ = inner_place;
  return document_.append(inner);
}

// Objects that follow each other on one line, without what would part them.
Result<void> Framer::objects_of_line(std::string_view text, std::uint64_t place) {
  std::size_t begin = 0;
  open_.clear();
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      i += c == '\\' ? 1 : 0;
      in_string = c != '"';
      continue;
    }
    in_string = c == '"';
    if (c == '{' || c == '[') open_.push_back(c);
    if ((c == '}' || c == ']') && !open_.empty()) open_.pop_back();
    if (c != '}' || !open_.empty()) continue;
    RESPOOL_TRY(emit(text.substr(begin, i + 1 - begin), place + begin, {}));
    begin = i + 1;
  }
  return begin == text.size() ? Result<void>(ok())
                              : emit(text.substr(begin), place + begin, Shape::Malformed);
}

Result<void> Framer::document_line(std::string_view text, std::uint64_t place) {
  const bool restarts =
      text.starts_with("data:") || (text.starts_with('{') && object_is_out_of_place());
  if (restarts) {
    RESPOOL_TRY(end_document());
    return line(text, place);
  }
  const bool whole = follow(text);
  RESPOOL_TRY(document_.append("\n"));
  RESPOOL_TRY(document_.append(text));
  return !whole || open_.empty() ? end_document() : Result<void>(ok());
}

bool Framer::object_is_out_of_place() const {
  if (open_.back() == '[') return last_ != '[' && last_ != ',';
  return last_ != ':';
}

Result<void> Framer::end_document() {
  if (!in_document_) return ok();
  in_document_ = false;
  RESPOOL_TRY(const auto text, document_.view());
  // Where the document breaks off, lines after the break that are records of their own still count.
  std::string rest;
  std::uint64_t rest_place = 0;
  RESPOOL_TRY(cut_document(text, document_place_, [&](const Frame& frame) -> Result<void> {
    const auto next = frame.truncated ? find_record_line(frame.raw) : std::string_view::npos;
    if (next == std::string_view::npos) return sink_(frame);
    rest = frame.raw.substr(next);
    rest_place = frame.place + next;
    Frame head = frame;
    head.raw = frame.raw.substr(0, next - 1);
    return sink_(head);
  }));
  document_.clear();
  for (std::size_t at = 0; at < rest.size();) {
    const std::size_t end = std::min(rest.find('\n', at), rest.size());
    RESPOOL_TRY(line(std::string_view(rest).substr(at, end - at), rest_place + at));
    at = end + 1;
  }
  return ok();
}

bool Framer::follow(std::string_view text) {
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      open_.push_back(c);
    } else if ((c == '}' || c == ']') && !open_.empty()) {
      open_.pop_back();
    }
    if (c != ' ' && c != '\t' && c != '\r') last_ = c;
  }
  return !in_string;
}

Result<void> Framer::emit(std::string_view raw, std::uint64_t place, std::optional<Shape> shape) {
  Frame frame;
  frame.raw = raw;
  frame.place = place;
  frame.shape = shape;
  return sink_(frame);
}

}  // namespace respool
