#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "query/views/transcript.h"

namespace respool {

// Raise this when the same transcript renders to other bytes.
inline constexpr int kRendererVersion = 1;

inline constexpr std::uint64_t kDefaultBudgetTokens = 32'000;

struct ReplayOptions {
  std::uint64_t budget_tokens = kDefaultBudgetTokens;
  bool reasoning = false;  // include the model's reasoning
};

struct LeftOut {
  std::string what;    // a message id, or a part id
  std::string reason;  // budget, compacted, reverted, reasoning, outputs_elided, clipped
};

// A session's context as text, ready to stand before a prompt.
struct Replay {
  std::string replay_id;  // SHA-256 over renderer version, options and transcript, hex
  std::string session;
  std::uint64_t budget_tokens = 0;
  std::uint64_t estimated_tokens = 0;
  std::vector<std::string> kept;  // message ids, in order
  std::vector<LeftOut> left_out;
  std::string text;
};

// Renders whole turns, newest first, as many as fit the budget; the text says what is missing.
//
// Purity: a function of transcript and options alone: same in, same bytes out, on every machine.
// Content is data: each of its lines is quoted, so that none can close the envelope or speak as
// somebody else, and control characters are removed.
Replay render_replay(const Transcript& transcript, const ReplayOptions& options);

}  // namespace respool
