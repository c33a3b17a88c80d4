#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace respool {

// One of respool's own lines in a recording: what OpenCode's lines do not say.
class Note {
 public:
  Note(std::string_view type, std::int64_t timestamp_ms);

  // An empty text is left out.
  Note& text(std::string_view key, std::string_view value);
  Note& texts(std::string_view key, const std::vector<std::string>& values);
  Note& number(std::string_view key, std::int64_t value);
  Note& boolean(std::string_view key, bool value);
  Note& raw(std::string_view key, std::string_view json);

  std::string str() const { return json_ + "}"; }

 private:
  void key(std::string_view key);
  std::string json_;
};

}  // namespace respool
