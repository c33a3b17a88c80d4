#include "schema/opencode/json_fields.h"

#include <unordered_map>

#include "schema/opencode/json_reader.h"
#include "schema/opencode/json_text.h"
#include "schema/opencode/utf8.h"

namespace respool {
namespace {

constexpr std::size_t kBad = std::string_view::npos;
constexpr int kMaxDepth = 1024;  // as deep as the decoder reads

bool is_space(char c) {
  return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_hex(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

// Checks JSON strictly. Each member takes the place of a token's first character and gives the
// place past its last one, or kBad.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  std::size_t skip(std::size_t at) const {
    while (at < text_.size() && is_space(text_[at]))
      ++at;
    return at;
  }

  bool is(std::size_t at, char c) const { return at < text_.size() && text_[at] == c; }

  std::size_t value(std::size_t at, int depth) const {
    if (at >= text_.size() || depth > kMaxDepth) return kBad;
    switch (text_[at]) {
      case '{':
        return object(at, depth, [](std::string_view, std::string_view) {});
      case '[':
        return array(at, depth, [](std::string_view) {});
      case '"':
        return string(at);
      case 't':
        return word(at, "true");
      case 'f':
        return word(at, "false");
      case 'n':
        return word(at, "null");
      default:
        return number(at);
    }
  }

  // Calls `visit(key with its quotes, value)`.
  template <class Visit>
  std::size_t object(std::size_t at, int depth, Visit&& visit) const {
    if (!is(at, '{')) return kBad;
    at = skip(at + 1);
    if (is(at, '}')) return at + 1;
    while (true) {
      const std::size_t key_end = is(at, '"') ? string(at) : kBad;
      if (key_end == kBad) return kBad;
      const std::size_t colon = skip(key_end);
      if (!is(colon, ':')) return kBad;
      const std::size_t begin = skip(colon + 1);
      const std::size_t end = value(begin, depth + 1);
      if (end == kBad) return kBad;
      visit(text_.substr(at, key_end - at), text_.substr(begin, end - begin));
      at = skip(end);
      if (is(at, '}')) return at + 1;
      if (!is(at, ',')) return kBad;
      at = skip(at + 1);
    }
  }

  template <class Visit>
  std::size_t array(std::size_t at, int depth, Visit&& visit) const {
    if (!is(at, '[')) return kBad;
    at = skip(at + 1);
    if (is(at, ']')) return at + 1;
    while (true) {
      const std::size_t end = value(at, depth + 1);
      if (end == kBad) return kBad;
      visit(text_.substr(at, end - at));
      at = skip(end);
      if (is(at, ']')) return at + 1;
      if (!is(at, ',')) return kBad;
      at = skip(at + 1);
    }
  }

 private:
  std::size_t string(std::size_t at) const {
    for (++at; at < text_.size(); ++at) {
      const char c = text_[at];
      if (c == '"') return at + 1;
      if (static_cast<unsigned char>(c) < 0x20) return kBad;
      if (c != '\\') continue;
      ++at;
      if (at >= text_.size()) return kBad;
      if (text_[at] == 'u') {
        for (int digit = 0; digit < 4; ++digit) {
          ++at;
          if (at >= text_.size() || !is_hex(text_[at])) return kBad;
        }
      } else if (std::string_view("\"\\/bfnrt").find(text_[at]) == std::string_view::npos) {
        return kBad;
      }
    }
    return kBad;
  }

  std::size_t word(std::size_t at, std::string_view expected) const {
    return text_.substr(at).starts_with(expected) ? at + expected.size() : kBad;
  }

  std::size_t digits(std::size_t at) const {
    const std::size_t begin = at;
    while (at < text_.size() && is_digit(text_[at]))
      ++at;
    return at == begin ? kBad : at;
  }

  std::size_t number(std::size_t at) const {
    if (is(at, '-')) ++at;
    at = is(at, '0') ? at + 1 : digits(at);
    if (at != kBad && is(at, '.')) at = digits(at + 1);
    if (at == kBad || (!is(at, 'e') && !is(at, 'E'))) return at;
    ++at;
    if (is(at, '+') || is(at, '-')) ++at;
    return digits(at);
  }

  std::string_view text_;
};

// `key` is as written, without its quotes.
bool names(std::string_view written, std::string_view key) {
  if (written == key) return true;
  return written.find('\\') != std::string_view::npos && json::unescape(written) == key;
}

std::string escaped_key(std::string_view key) {
  const std::string quoted = json_string(key);
  return quoted.substr(1, quoted.size() - 2);
}

}  // namespace

std::optional<std::vector<std::pair<std::string_view, std::string_view>>> split_json_object(
    std::string_view text) {
  const Scanner scanner(text);
  std::vector<std::pair<std::string_view, std::string_view>> fields;
  const std::size_t end =
      scanner.object(scanner.skip(0), 0, [&](std::string_view key, std::string_view value) {
        fields.emplace_back(key.substr(1, key.size() - 2), value);
      });
  if (end == kBad || scanner.skip(end) != text.size()) return std::nullopt;
  return fields;
}

std::optional<std::vector<std::string_view>> split_json_array(std::string_view text) {
  const Scanner scanner(text);
  std::vector<std::string_view> elements;
  const std::size_t end = scanner.array(
      scanner.skip(0), 0, [&](std::string_view element) { elements.push_back(element); });
  if (end == kBad || scanner.skip(end) != text.size()) return std::nullopt;
  return elements;
}

std::optional<JsonFields> JsonFields::parse(std::string_view text) {
  std::string repaired;
  auto split = is_valid_utf8(text) ? split_json_object(text) : std::nullopt;
  if (!split) {
    repaired = repaired_json(text);
    split = split_json_object(repaired);
  }
  if (!split) return std::nullopt;
  JsonFields object;
  object.fields_.reserve(split->size());
  std::unordered_map<std::string, std::size_t> places;
  for (const auto& [key, value] : *split) {
    const auto [place, is_new] = places.emplace(json::unescape(key), object.fields_.size());
    if (is_new) {
      object.fields_.emplace_back(key, minify_json(value));
    } else {
      object.fields_[place->second].second = minify_json(value);
    }
  }
  return object;
}

std::optional<std::string_view> JsonFields::get(std::string_view key) const {
  for (const auto& [name, value] : fields_) {
    if (names(name, key)) return value;
  }
  return std::nullopt;
}

std::optional<std::string> JsonFields::text(std::string_view key) const {
  const auto value = get(key);
  if (!value || !value->starts_with('"')) return std::nullopt;
  return json::unescape(value->substr(1, value->size() - 2));
}

std::optional<JsonFields> JsonFields::object(std::string_view key) const {
  const auto value = get(key);
  return value && value->starts_with('{') ? parse(*value) : std::nullopt;
}

void JsonFields::set(std::string_view key, std::string value) {
  for (auto& [name, old] : fields_) {
    if (!names(name, key)) continue;
    old = std::move(value);
    return;
  }
  fields_.emplace_back(escaped_key(key), std::move(value));
}

void JsonFields::set_text(std::string_view key, std::string_view text) {
  set(key, json_string(text));
}

void JsonFields::set_number(std::string_view key, std::int64_t number) {
  set(key, std::to_string(number));
}

void JsonFields::remove(std::string_view key) {
  std::erase_if(fields_, [&](const auto& field) { return names(field.first, key); });
}

void JsonFields::append_to(std::string& out) const {
  out.push_back('{');
  bool first = true;
  for (const auto& [key, value] : fields_) {
    if (!first) out.push_back(',');
    first = false;
    out.push_back('"');
    out += key;
    out += "\":";
    out += value;
  }
  out.push_back('}');
}

std::string JsonFields::json() const {
  std::string out;
  append_to(out);
  return out;
}

}  // namespace respool
