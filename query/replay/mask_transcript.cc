#include "query/replay/mask_transcript.h"

namespace respool {
namespace {

template <class Visit>
void each_text(Transcript& transcript, Visit&& visit) {
  visit(transcript.title);
  for (auto& item : transcript.items) {
    for (auto* const text : {&item.text, &item.input, &item.title, &item.url})
      visit(*text);
  }
}

}  // namespace

void mask_transcript(Masker& masker, Transcript& transcript) {
  each_text(transcript, [&](const std::string& text) {
    if (!text.empty()) masker.learn(text);
  });
  each_text(transcript, [&](std::string& text) {
    if (!text.empty()) text = masker.mask(text);
  });
}

}  // namespace respool
