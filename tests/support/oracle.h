#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schema/codec.h"

namespace respool::test {

// An export read without any code of ours: what OpenCode itself says it holds.
struct UsageSumOracle {
  std::int64_t steps = 0, input = 0, output = 0, reasoning = 0, cache_read = 0, cache_write = 0,
               cost_nanos = 0;
};

struct StepOracle {
  std::string session, message, provider, model, agent;
  std::int64_t created = 0, completed = 0;
  std::int64_t session_created = 0;
  UsageSumOracle usage;
};

struct ExportOracle {
  std::string session;
  std::string parent;
  std::int64_t created = 0;
  UsageSumOracle sum;                           // over step-finish parts
  std::optional<std::int64_t> info_cost_nanos;  // of the session's info
  std::optional<std::int64_t> info_tokens;      // all tokens of the session's info
  std::vector<std::string> messages;            // ids in file order
  std::vector<std::string> parts;
  std::vector<StepOracle> steps;  // one a message that has step-finish parts
};
ExportOracle read_export(const std::string& bytes);

// Rows of a database, as what an observation of them would say.
struct DatabaseOracle {
  struct Message {
    std::string id, session;
    fb::MessageRowT content;
  };
  struct Part {
    std::string id, message, session;
    fb::PartRowT content;
  };
  std::vector<Message> messages;
  std::vector<Part> parts;
};
DatabaseOracle read_database(const std::string& bytes);

// A fact's content alone: no key, pointer, sources, nor what only some sources show.
std::string content_of(fb::SessionRowT row);
std::string content_of(fb::MessageRowT row);
std::string content_of(fb::PartRowT row);

}  // namespace respool::test
