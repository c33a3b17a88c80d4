#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "schema/error.h"

#include "query/replay/mask.h"

namespace respool {

// A secret in a text: its bytes, without what gives it away.
struct Found {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::string_view kind;
  std::size_t rank = 0;  // of two that begin at one place the lesser says what it is
};

constexpr std::string_view kPemKind = "private-key";

// What mask.h looks for. Finds may overlap and come in any order.
//
// Threads:   find() from any.
// Ownership: kinds are borrowed from the rules.
class MaskRules {
 public:
  static Result<MaskRules> make(const std::vector<MaskRule>& extra);
  MaskRules(MaskRules&&) noexcept;
  MaskRules& operator=(MaskRules&&) noexcept;
  ~MaskRules();

  std::vector<Found> find(std::string_view text) const;

 private:
  struct Compiled;
  explicit MaskRules(std::unique_ptr<Compiled> compiled);
  std::unique_ptr<Compiled> compiled_;
};

// Detectors written out by hand: what a pattern cannot say. Each is asked where its anchor stands,
// from left to right, and keeps in `seen` how far it has read, so that no byte is read twice.
struct Detector {
  std::vector<std::string_view> anchors;
  // Appends what stands at `at`; `seen` is its own, 0 at a text's beginning.
  void (*find)(std::string_view text, std::size_t at, std::size_t& seen, std::vector<Found>& found);
};
const std::vector<Detector>& assignment_detectors();
const std::vector<Detector>& block_detectors();
// Tokens that have no literal to look for: Discord's, by their dots.
void find_dotted_tokens(std::string_view text, std::vector<Found>& found);

}  // namespace respool
