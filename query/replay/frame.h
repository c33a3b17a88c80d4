#pragma once

#include <string>
#include <vector>

#include "query/replay/prefix.h"

namespace respool {

// What stands around the history in a replay: what it is, where it comes from, which files it
// touched, which calls may have taken effect, and what is missing.
class ReplayFrame {
 public:
  ReplayFrame(const Transcript& transcript, const ReplayOptions& options, const std::string& id);

  // The whole text, the envelope's lines included.
  std::string text(const std::vector<LeftOut>& left_out, const std::string& body) const;

 private:
  std::string head_;
  std::string sections_;
  std::string id_;
};

}  // namespace respool
