#pragma once

// The one header that shows simdjson, for the sources of this folder alone.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <simdjson.h>

namespace respool::json {

using Object = simdjson::ondemand::object;
using Array = simdjson::ondemand::array;
using Value = simdjson::ondemand::value;
using Type = simdjson::ondemand::json_type;

// Holds a padded copy of one JSON text and walks it once, forwards.
//
// Ownership: values and views taken from it die with the next load().
// Errors:    load() is false where the text is not an object or cannot be read even after repair.
class Reader {
 public:
  // Starts over with `text`. A byte order mark is skipped; where the text holds bad UTF-8 or raw
  // control characters, a copy without them is read and repaired() says so.
  bool load(std::string_view text);
  bool repaired() const { return repaired_; }
  // The outermost object.
  std::optional<Object> object();
  // True where nothing but white space follows the outermost object, once it was walked.
  bool at_end() { return document_.current_location().error() == simdjson::OUT_OF_BOUNDS; }

 private:
  bool iterate(std::string_view text);

  simdjson::ondemand::parser parser_;
  simdjson::ondemand::document document_;
  std::string buffer_;
  bool repaired_ = false;
};

// The key as written, without its quotes.
std::string_view raw_key(simdjson::ondemand::raw_json_string key);

// Calls `visit(key, value)` for each field in order. False where the JSON breaks off.
template <class Visit>
bool each_field(Object object, Visit&& visit) {
  for (auto result : object) {
    simdjson::ondemand::field field;
    if (std::move(result).get(field)) return false;
    visit(raw_key(field.key()), field.value());
  }
  return true;
}

// The same for the elements of an array.
template <class Visit>
bool each_element(Array array, Visit&& visit) {
  for (auto result : array) {
    Value element;
    if (std::move(result).get(element)) return false;
    visit(element);
  }
  return true;
}

Type type_of(Value& value);
// The token as written: a string with its quotes, a number, true, false or null. "" for others.
std::string_view token(Value& value);
// The characters between the quotes, as written; nothing where the value is no string.
std::optional<std::string_view> raw_string(Value& value);

// The text of a string, at most `limit` bytes of it; "" for other values.
std::string text(Value& value, std::size_t limit = std::string::npos);
// A number as written, also between quotes; "" for other values.
std::string_view number_token(Value& value);
// A whole number, also written as 5.0, 5e0 or "5".
std::optional<std::int64_t> integer(Value& value);
// Milliseconds: a number, or an ISO time as the second API writes it.
std::optional<std::int64_t> time_ms(Value& value);
bool is_true(Value& value);
std::optional<Object> object_of(Value& value);
std::optional<Array> array_of(Value& value);
// The value's whole text, which is walked past.
std::string_view raw_json(Value& value);

// Undoes JSON's escapes. Lone surrogates become U+FFFD; U+0000 stays.
std::string unescape(std::string_view raw);
// How many bytes unescape(raw) would have.
std::uint64_t unescaped_bytes(std::string_view raw);

}  // namespace respool::json
