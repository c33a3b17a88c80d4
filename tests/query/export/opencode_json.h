#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace respool::test {

// The same JSON with the keys of all objects sorted and no white space: equal texts, equal values.
std::string sorted_json(std::string_view json);

// What an `opencode export` says, message by message: each sorted.
struct ExportedFile {
  struct Message {
    std::string info;
    std::vector<std::string> parts;
  };
  std::string info;
  std::vector<Message> messages;
};
// Fails the test where `json` is no export.
ExportedFile read_exported(std::string_view json);
// The same of a list of messages alone.
std::vector<ExportedFile::Message> read_exported_messages(std::string_view json);

// A value by a path such as "state/time/start", as JSON; "" where it is absent.
std::string json_at(std::string_view json, std::string_view path);
// The same for a text, without its quotes.
std::string text_at(std::string_view json, std::string_view path);

}  // namespace respool::test
