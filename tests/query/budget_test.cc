#include "query/replay/budget.h"

#include <algorithm>
#include <map>

#include <catch2/catch.hpp>

#include "schema/opencode/utf8.h"

#include "tests/support/texts.h"
#include "tests/support/tokenizers.h"

namespace respool::test {
namespace {

// Each text in pieces of several sizes, from several places.
std::vector<TextSample> samples() {
  std::vector<TextSample> all;
  TextGenerator make(3);
  for (const auto& whole : texts_of_all_kinds()) {
    for (const auto& [size, times] : std::vector<std::pair<std::size_t, int>>{
             {20, 12}, {100, 8}, {1000, 6}, {10'000, 2}, {kTextSize, 1}}) {
      for (int i = 0; i < times; ++i) {
        const std::size_t room = whole.text.size() > size ? whole.text.size() - size : 0;
        const std::size_t from = utf8_boundary(whole.text, make.below(room + 1));
        const std::string_view rest = std::string_view(whole.text).substr(from);
        all.push_back(
            {whole.kind,
             std::string(rest.substr(0, utf8_boundary(rest, std::min(size, rest.size()))))});
      }
    }
  }
  return all;
}

}  // namespace

TEST_CASE("estimates stay above real tokenizers and below 1.6 times them", "[query][replay]") {
  const auto all = samples();
  std::vector<std::string> texts;
  for (const auto& sample : all)
    texts.push_back(sample.text);
  const auto real = real_tokens(texts);

  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> sums;  // estimated, real
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::uint64_t estimated = estimate_tokens(all[i].text);
    INFO(all[i].kind << ", " << all[i].text.size() << " bytes: " << all[i].text.substr(0, 200));
    CHECK(estimated >= real[i]);
    if (all[i].text.size() < 990) continue;
    sums[all[i].kind].first += estimated;
    sums[all[i].kind].second += real[i];
  }
  CHECK(sums.size() >= 15);
  for (const auto& [kind, sum] : sums) {
    INFO(kind << ": estimated " << sum.first << ", real " << sum.second);
    CHECK(sum.first * 10 <= sum.second * (kind == "log" ? 17 : 16));
  }
}

TEST_CASE("estimates of pieces add up to no less than that of the whole", "[query][replay]") {
  TextGenerator make(6);
  for (const auto& whole : texts_of_all_kinds()) {
    const std::string text(whole.text.substr(
        0, utf8_boundary(whole.text, std::min<std::size_t>(5000, whole.text.size()))));
    for (int i = 0; i < 50; ++i) {
      const std::size_t cut = utf8_boundary(text, make.below(text.size()));
      INFO(whole.kind << " cut at " << cut);
      CHECK(estimate_tokens(text) <=
            estimate_tokens(text.substr(0, cut)) + estimate_tokens(text.substr(cut)));
    }
  }
  CHECK(estimate_tokens("") == 0);
}

TEST_CASE("bytes that are no text have an estimate too", "[query][replay]") {
  CHECK(estimate_tokens(std::string(1000, '\xFF')) >= 1000);
  CHECK(estimate_tokens(std::string(1000, '\0')) >= 250);
  CHECK(estimate_tokens("\xE4\xB8") >= 2);
}

}  // namespace respool::test
