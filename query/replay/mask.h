#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "schema/error.h"

namespace respool {

// A kind of secret of one's own. `kind` is what placeholders and counts show: small letters, digits
// and "-", at most 32 bytes. `pattern` is in RE2's syntax; its first group, where it has one and it
// took part in the match, is the secret, else the whole match is. A match of nothing masks nothing.
struct MaskRule {
  std::string kind;
  std::string pattern;
};

// Replaces secrets in texts by placeholders: ⟦secret:KIND#N⟧, N counting per kind from 1 in order
// of first appearance. MASKING.md in this folder says what it finds and what it leaves alone.
// Stable: one secret has one placeholder in every text, whatever stands around it, raw or inside
// JSON. A placeholder that a text brings along is left alone, and its number is not given to
// another secret that is found later.
//
// Order:   what comes out depends on the texts given and their order, on nothing else. mask() alone
//          finds in a text what that text or an earlier one gives away; learn() all texts first,
//          and a value that only the last one names as a secret is masked in the first one too.
// Cost:    linear in the text. Values learned are indexed anew when mask() follows learn(), so
// learn
//          everything first. One search for a rule of one's own is linear, whatever the pattern.
// Threads: one at a time.
// Text:    any bytes; what is UTF-8 stays UTF-8.
class Masker {
 public:
  // The rules of MASKING.md, and `extra`, which go first. InvalidArgument names a bad rule.
  static Result<Masker> make(const std::vector<MaskRule>& extra);
  Masker(Masker&&) noexcept;
  Masker& operator=(Masker&&) noexcept;
  ~Masker();

  // Finds the secrets of `text` and numbers those not seen before.
  void learn(std::string_view text);
  // Learns `text`, then returns it without its secrets.
  std::string mask(std::string_view text);
  // Occurrences replaced so far, by kind.
  const std::map<std::string, std::uint64_t>& counts() const;

 private:
  struct State;
  explicit Masker(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;  // keeps RE2 out of this header
};

}  // namespace respool
