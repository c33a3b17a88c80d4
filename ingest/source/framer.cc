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

// An export on one line, as `jq -c` leaves it.
bool is_document(std::string_view text) {
  return text.front() == '[' || text.starts_with("{\"info\":") ||
         text.starts_with("{\"messages\":");
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
    content.remove_prefix(content.starts_with("data: ") ? 6 : 5);
    return data_line(content, place + (text.size() - content.size()));
  }
  if (!data_.empty()) {
    RESPOOL_TRY(end_data());
  }
  if (is_event_stream_field(content)) return ok();
  const std::string_view inner = trimmed(content);
  if (!inner.empty() && (inner.front() == '{' || inner.front() == '['))
    return json_line(text, place);
  return emit(text, place, is_talk(content) ? Shape::Talk : Shape::Malformed);
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
  if (looks_whole(inner)) {
    if (is_document(inner))
      return cut_document(
          inner, place + static_cast<std::uint64_t>(inner.data() - text.data()), sink_);
    return emit(text, place, {});
  }
  depth_ = 0;
  if (!follow(inner)) return emit(text, place, Shape::Malformed);
  if (depth_ <= 0) return emit(text, place, Shape::Malformed);
  in_document_ = true;
  document_place_ = place + static_cast<std::uint64_t>(inner.data() - text.data());
  return document_.append(inner);
}

Result<void> Framer::document_line(std::string_view text, std::uint64_t place) {
  // An object that starts a line while another is open: the other one broke off.
  const bool restarts =
      document_.front() == '{' && (text.starts_with('{') || text.starts_with("data:"));
  const bool whole = !restarts && follow(text);
  if (restarts || !whole) {
    if (!restarts) {
      RESPOOL_TRY(document_.append("\n"));
      RESPOOL_TRY(document_.append(text));
    }
    RESPOOL_TRY(end_document());
    return restarts ? line(text, place) : Result<void>(ok());
  }
  RESPOOL_TRY(document_.append("\n"));
  RESPOOL_TRY(document_.append(text));
  return depth_ <= 0 ? end_document() : Result<void>(ok());
}

Result<void> Framer::end_document() {
  if (!in_document_) return ok();
  in_document_ = false;
  RESPOOL_TRY(const auto text, document_.view());
  RESPOOL_TRY(cut_document(text, document_place_, sink_));
  document_.clear();
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
      ++depth_;
    } else if (c == '}' || c == ']') {
      --depth_;
    }
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
