#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace respool::test {

inline constexpr std::size_t kTextSize = 100'000;

struct TextSample {
  std::string kind;
  std::string text;
};

// The same choices each time for the same seed.
class TextGenerator {
 public:
  explicit TextGenerator(std::uint32_t seed) : random_(seed) {}
  std::size_t below(std::size_t limit) { return random_() % limit; }
  std::string of(std::string_view alphabet, std::size_t size) {
    std::string text;
    for (std::size_t i = 0; i < size; ++i)
      text += alphabet[below(alphabet.size())];
    return text;
  }
  std::string one_of(const std::vector<std::string>& pieces, std::size_t size) {
    std::string text;
    while (text.size() < size)
      text += pieces[below(pieces.size())];
    return text;
  }

 private:
  std::mt19937 random_;
};

// Texts of all kinds that sessions hold, up to kTextSize bytes each and mostly that many: this
// project's documents and code, the captures, languages of the world, and what is generated.
std::vector<TextSample> texts_of_all_kinds();

}  // namespace respool::test
