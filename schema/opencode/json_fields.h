#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace respool {

// One JSON object, to be changed and written again. What is not touched keeps its bytes: numbers,
// escapes and lone surrogates stay as OpenCode wrote them. White space between tokens goes.
//
// Threads:   one at a time. Ownership: holds copies.
// Errors:    parse() gives nothing where the text is not one whole JSON object throughout.
class JsonFields {
 public:
  // Of two equal keys the last one counts, at the place of the first, as in JavaScript. Bad UTF-8
  // and raw control characters are repaired as the decoder repairs them.
  static std::optional<JsonFields> parse(std::string_view text);

  // A field's value as JSON.
  std::optional<std::string_view> get(std::string_view key) const;
  bool has(std::string_view key) const { return get(key).has_value(); }
  // A string's text with its escapes undone; nothing for other values.
  std::optional<std::string> text(std::string_view key) const;
  // Nothing where the field is no object.
  std::optional<JsonFields> object(std::string_view key) const;

  // `value` is JSON. A new key goes to the end.
  void set(std::string_view key, std::string value);
  void set_text(std::string_view key, std::string_view text);
  void set_number(std::string_view key, std::int64_t number);
  void remove(std::string_view key);

  // Keys as written, without their quotes; values as JSON.
  const std::vector<std::pair<std::string, std::string>>& fields() const { return fields_; }
  void append_to(std::string& out) const;
  std::string json() const;

 private:
  std::vector<std::pair<std::string, std::string>> fields_;
};

// The fields of an object, as views into `text`: keys as written but for their quotes, values as
// written. Nothing where `text` is not one JSON object throughout.
std::optional<std::vector<std::pair<std::string_view, std::string_view>>> split_json_object(
    std::string_view text);
// The elements of an array likewise.
std::optional<std::vector<std::string_view>> split_json_array(std::string_view text);

}  // namespace respool
