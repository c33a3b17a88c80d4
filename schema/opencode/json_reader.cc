#include "schema/opencode/json_reader.h"

#include <charconv>
#include <cmath>

#include "schema/opencode/json_text.h"
#include "schema/opencode/utf8.h"
#include "schema/time.h"

namespace respool::json {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

bool is_space(char c) {
  return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

std::optional<unsigned> hex4(std::string_view raw, std::size_t at) {
  if (at + 4 > raw.size()) return std::nullopt;
  unsigned code = 0;
  const auto [end, error] = std::from_chars(raw.data() + at, raw.data() + at + 4, code, 16);
  if (error != std::errc{} || end != raw.data() + at + 4) return std::nullopt;
  return code;
}

// Reads the escape that starts at raw[at] == '\\', calls emit with the character, and returns the
// index past it.
template <class Emit>
std::size_t read_escape(std::string_view raw, std::size_t at, Emit&& emit) {
  constexpr char32_t kReplacement = 0xFFFD;
  if (at + 1 >= raw.size()) {
    emit(kReplacement);
    return raw.size();
  }
  switch (raw[at + 1]) {
    case 'n':
      emit(U'\n');
      return at + 2;
    case 't':
      emit(U'\t');
      return at + 2;
    case 'r':
      emit(U'\r');
      return at + 2;
    case 'b':
      emit(U'\b');
      return at + 2;
    case 'f':
      emit(U'\f');
      return at + 2;
    case 'u':
      break;
    default:
      emit(static_cast<unsigned char>(raw[at + 1]));
      return at + 2;
  }
  const auto high = hex4(raw, at + 2);
  if (!high) {
    emit(kReplacement);
    return at + 2;
  }
  if (*high < 0xD800 || *high > 0xDFFF) {
    emit(static_cast<char32_t>(*high));
    return at + 6;
  }
  const bool pair =
      *high < 0xDC00 && at + 7 < raw.size() && raw[at + 6] == '\\' && raw[at + 7] == 'u';
  const auto low = pair ? hex4(raw, at + 8) : std::nullopt;
  if (!low || *low < 0xDC00 || *low > 0xDFFF) {
    emit(kReplacement);
    return at + 6;
  }
  emit(0x10000 + ((static_cast<char32_t>(*high) - 0xD800) << 10) +
       (static_cast<char32_t>(*low) - 0xDC00));
  return at + 12;
}

// Walks `raw`: plain(run) for characters as they are, emit(code) for escapes.
template <class Plain, class Emit>
void walk_string(std::string_view raw, Plain&& plain, Emit&& emit) {
  std::size_t at = 0;
  while (at < raw.size()) {
    const std::size_t escape = std::min(raw.find('\\', at), raw.size());
    if (escape > at) plain(raw.substr(at, escape - at));
    if (escape == raw.size()) return;
    at = read_escape(raw, escape, emit);
  }
}

}  // namespace

bool Reader::iterate(std::string_view text) {
  buffer_.reserve(text.size() + simdjson::SIMDJSON_PADDING);
  buffer_.assign(text);
  return !parser_.iterate(buffer_.data(), buffer_.size(), buffer_.capacity()).get(document_);
}

bool Reader::load(std::string_view text) {
  repaired_ = false;
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  if (iterate(text)) return true;
  repaired_ = true;
  const std::string copy = repaired_json(text);
  return iterate(copy);
}

std::optional<Object> Reader::object() {
  Object object;
  if (document_.get_object().get(object)) return std::nullopt;
  return object;
}

std::string_view raw_key(simdjson::ondemand::raw_json_string key) {
  const char* begin = key.raw();
  const char* end = begin;
  while (*end != '"')
    end += *end == '\\' ? 2 : 1;
  return {begin, static_cast<std::size_t>(end - begin)};
}

Type type_of(Value& value) {
  Type type = Type::null;
  if (value.type().get(type)) return Type::null;
  return type;
}

std::string_view token(Value& value) {
  const Type type = type_of(value);
  if (type == Type::object || type == Type::array) return {};
  std::string_view raw = value.raw_json_token();
  while (!raw.empty() && is_space(raw.back()))
    raw.remove_suffix(1);
  return raw;
}

std::optional<std::string_view> raw_string(Value& value) {
  if (type_of(value) != Type::string) return std::nullopt;
  std::string_view raw = token(value);
  if (raw.size() < 2 || raw.back() != '"') return std::nullopt;
  return raw.substr(1, raw.size() - 2);
}

std::string text(Value& value, std::size_t limit) {
  const auto raw = raw_string(value);
  if (!raw) return {};
  std::string unescaped = unescape(limit < raw->size() / 6 ? raw->substr(0, limit * 6) : *raw);
  if (unescaped.size() > limit) unescaped.resize(utf8_boundary(unescaped, limit));
  return unescaped;
}

std::string_view number_token(Value& value) {
  if (const auto quoted = raw_string(value)) return *quoted;
  return type_of(value) == Type::number ? token(value) : std::string_view();
}

std::optional<std::int64_t> integer(Value& value) {
  const std::string_view raw = number_token(value);
  std::int64_t whole = 0;
  const auto [end, error] = std::from_chars(raw.data(), raw.data() + raw.size(), whole);
  if (raw.empty()) return std::nullopt;
  if (error == std::errc{} && end == raw.data() + raw.size()) return whole;
  double number = 0;
  const auto [fend, ferror] = std::from_chars(raw.data(), raw.data() + raw.size(), number);
  constexpr double kExact = 9007199254740992.0;  // 2^53
  if (ferror != std::errc{} || fend != raw.data() + raw.size()) return std::nullopt;
  if (std::trunc(number) != number || std::fabs(number) > kExact) return std::nullopt;
  return static_cast<std::int64_t>(number);
}

std::optional<std::int64_t> time_ms(Value& value) {
  // Times no calendar holds say nothing.
  constexpr std::int64_t kYear10000 = 253'402'300'800'000;
  const auto plausible = [](std::int64_t time) {
    return time >= 0 && time < kYear10000 ? std::optional(time) : std::nullopt;
  };
  if (const auto whole = integer(value)) return plausible(*whole);
  if (const auto text = raw_string(value)) return parse_time(*text);
  const std::string_view raw = number_token(value);
  double number = 0;
  const auto [end, error] = std::from_chars(raw.data(), raw.data() + raw.size(), number);
  if (raw.empty() || error != std::errc{} || !(std::fabs(number) < 9.0e15)) return std::nullopt;
  return plausible(static_cast<std::int64_t>(std::floor(number)));
}

bool is_true(Value& value) {
  return token(value) == "true";
}

std::optional<Object> object_of(Value& value) {
  if (type_of(value) != Type::object) return std::nullopt;
  Object object;
  if (value.get_object().get(object)) return std::nullopt;
  return object;
}

std::optional<Array> array_of(Value& value) {
  if (type_of(value) != Type::array) return std::nullopt;
  Array array;
  if (value.get_array().get(array)) return std::nullopt;
  return array;
}

std::string_view raw_json(Value& value) {
  std::string_view raw;
  if (auto object = object_of(value)) {
    if (object->raw_json().get(raw)) return {};
    return raw;
  }
  if (auto array = array_of(value)) {
    if (array->raw_json().get(raw)) return {};
    return raw;
  }
  return token(value);
}

std::string unescape(std::string_view raw) {
  std::string text;
  text.reserve(raw.size());
  walk_string(
      raw,
      [&](std::string_view run) { text += run; },
      [&](char32_t code) { append_utf8(text, code); });
  return text;
}

std::uint64_t unescaped_bytes(std::string_view raw) {
  std::uint64_t bytes = 0;
  walk_string(
      raw,
      [&](std::string_view run) { bytes += run.size(); },
      [&](char32_t code) { bytes += utf8_length(code); });
  return bytes;
}

}  // namespace respool::json

namespace respool {

bool is_valid_json(std::string_view text) {
  simdjson::dom::parser parser;
  return parser.parse(text.data(), text.size()).error() == simdjson::SUCCESS;
}

}  // namespace respool
