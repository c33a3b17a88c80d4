#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "query/replay/left_out.h"
#include "query/replay/render_message.h"
#include "query/replay/touched_files.h"
#include "query/views/transcript.h"

namespace respool {

// Raise this when the same transcript renders to other bytes.
inline constexpr int kRendererVersion = 2;

inline constexpr std::uint64_t kDefaultBudgetTokens = 32'000;

struct ReplayOptions {
  std::uint64_t budget_tokens = kDefaultBudgetTokens;
  bool reasoning = false;          // include the model's reasoning
  std::string new_directory = {};  // where the session goes on, "" where nobody said
  std::string new_host = {};
  PresentFiles present = {};  // what is on disk of the files it touched
};

struct ShownMessage {
  std::string message;
  Fidelity fidelity = Fidelity::Verbatim;
};

// A session's context as text, ready to stand before a prompt.
struct Replay {
  std::string replay_id;  // SHA-256 over renderer version, options and transcript, hex
  std::string session;
  std::uint64_t budget_tokens = 0;
  std::uint64_t estimated_tokens = 0;
  std::uint64_t least_tokens = 0;  // what the frame and the newest prompt alone need
  std::vector<ShownMessage> shown;
  std::vector<LeftOut> left_out;
  std::string text;
};

// Renders a transcript within a budget of tokens. The newest prompt always stands whole; from the
// newest message back, each is shown as fully as its share of the budget allows, an older one never
// more fully than a newer one, and what fits not even as a line is left out; the text says how
// much, `left_out` says exactly what. Where the budget cannot hold the newest prompt, `shown` is
// empty and `least_tokens` says what is needed.
//
// Purity: a function of transcript and options alone: same in, same bytes out, on every machine.
// Content is data: see query/replay/envelope.h. Secrets are masked before (query/replay/mask.h).
Replay render_replay(const Transcript& transcript, const ReplayOptions& options);

}  // namespace respool
