#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "schema/opencode/record.h"

namespace respool {

// Why respool ended a run, where it did.
enum class StopReason : std::uint8_t {
  None,
  Interrupted,
  StartupTimeout,
  IdleTimeout,
  TurnTimeout,
  Withheld,     // the model keeps calling a tool it is not given
  Compactions,  // the context is summarised again and again
};

// What the lines of one run said, and how it ended: the evidence its outcome is found by when the
// process has ended. No single line decides (a turn can go on after "stop", and end in
// "tool-calls").
//
// Threads: one at a time.
class RunEvidence {
 public:
  void line(const Record& record);
  void stderr_line(std::string_view plain);

  const std::string& session() const { return session_; }
  std::uint64_t withheld_in_a_row() const { return withheld_; }
  std::uint64_t compactions() const { return compactions_; }
  std::uint64_t lines() const { return lines_; }
  bool session_not_found() const { return not_found_; }

  struct Verdict {
    std::string outcome;  // completed, blocked, failed, ...: see schema/FORMAT.md, "Notes"
    std::string reason;   // a sentence for people, "" where the outcome says it all
  };
  Verdict verdict(StopReason stop, std::optional<int> exit, int signal, bool resumed) const;

 private:
  Verdict by_end(std::optional<int> exit, int signal) const;
  Verdict by_lines() const;
  void part(const fb::PartRowT& part);

  std::string session_;
  std::uint64_t lines_ = 0;
  std::uint64_t withheld_ = 0;
  std::uint64_t compactions_ = 0;
  std::string last_finish_;  // of the last step that ended
  std::string error_name_;   // of the last error line
  std::string error_text_;
  bool error_is_last_ = false;  // nothing that ended came after it
  bool restarted_ = false;      // a step began again before it ended
  bool refused_ = false;        // of the last tool call
  std::set<std::string> open_;  // messages whose step began and did not end
  bool not_found_ = false;
};

}  // namespace respool
