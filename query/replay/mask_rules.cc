#include "query/replay/mask_rules.h"

#include <algorithm>

#include <fmt/format.h>
#include <re2/re2.h>

#include "schema/assert.h"

#include "query/replay/mask_scan.h"
#include "query/replay/mask_tokens.h"
#include "query/replay/mask_value.h"

namespace respool {
namespace {

re2::StringPiece piece(std::string_view text) {
  return {text.data(), text.size()};
}

RE2::Options quiet() {
  RE2::Options options;
  options.set_log_errors(false);
  return options;
}

bool is_kind(std::string_view kind) {
  return !kind.empty() && kind.size() <= 32 && std::all_of(kind.begin(), kind.end(), [](char c) {
    return is_lower(c) || is_digit(c) || c == '-';
  });
}

// The group of a match, or the match itself, as a place in `text`.
bool place_of(std::string_view text,
              const re2::StringPiece (&groups)[2],
              std::size_t& begin,
              std::size_t& end) {
  const auto& group = groups[1].data() != nullptr ? groups[1] : groups[0];
  begin = static_cast<std::size_t>(group.data() - text.data());
  end = begin + group.size();
  return end > begin;
}

bool may_start(std::string_view text, std::size_t at, Start start) {
  if (start == Start::Anywhere) return true;
  return starts_word(text, at) && (start == Start::Word || at == 0 || text[at - 1] != '-');
}

bool is_continuation(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
}

// The rules everybody has, compiled once.
struct BuiltIn {
  std::vector<std::unique_ptr<RE2>> tokens;  // as token_rules()
  std::vector<Detector> detectors;
  AnchorScan anchors;  // tags: tokens, then detectors
};

BuiltIn compile_built_in() {
  BuiltIn rules;
  std::size_t tag = 0;
  for (const auto& rule : token_rules()) {
    auto pattern = std::make_unique<RE2>(piece(rule.pattern), quiet());
    RESPOOL_ASSERT(pattern->ok() && pattern->NumberOfCapturingGroups() == 1);
    rules.tokens.push_back(std::move(pattern));
    for (const auto anchor : rule.anchors)
      rules.anchors.add(anchor, tag);
    ++tag;
  }
  for (const auto* detectors : {&assignment_detectors(), &block_detectors()}) {
    for (const auto& detector : *detectors) {
      rules.detectors.push_back(detector);
      for (const auto anchor : detector.anchors)
        rules.anchors.add(anchor, tag);
      ++tag;
    }
  }
  return rules;
}

const BuiltIn& built_in() {
  static const BuiltIn kRules = compile_built_in();
  return kRules;
}

}  // namespace

struct MaskRules::Compiled {
  struct Extra {
    std::string kind;
    std::unique_ptr<RE2> pattern;
  };
  std::vector<Extra> extra;

  void find_token(std::string_view text,
                  std::size_t at,
                  std::size_t rule,
                  std::size_t& seen,
                  std::vector<Found>& found) const;
  void find_extra(std::string_view text, const Extra& rule, std::vector<Found>& found) const;
};

MaskRules::MaskRules(std::unique_ptr<Compiled> compiled) : compiled_(std::move(compiled)) {}
MaskRules::MaskRules(MaskRules&&) noexcept = default;
MaskRules& MaskRules::operator=(MaskRules&&) noexcept = default;
MaskRules::~MaskRules() = default;

Result<MaskRules> MaskRules::make(const std::vector<MaskRule>& extra) {
  auto compiled = std::make_unique<Compiled>();
  for (std::size_t i = 0; i < extra.size(); ++i) {
    if (!is_kind(extra[i].kind)) {
      return Error(ErrorCode::InvalidArgument,
                   fmt::format("masking rule {}: its kind is not a name", i + 1),
                   "a kind has up to 32 small letters, digits and \"-\"");
    }
    auto pattern = std::make_unique<RE2>(piece(extra[i].pattern), quiet());
    if (!pattern->ok()) {
      return Error(
          ErrorCode::InvalidArgument,
          fmt::format(
              "masking rule {} ({}): bad pattern: {}", i + 1, extra[i].kind, pattern->error()),
          "patterns are written as RE2 reads them: no look-around, no back references");
    }
    compiled->extra.push_back({extra[i].kind, std::move(pattern)});
  }
  return MaskRules(std::move(compiled));
}

void MaskRules::Compiled::find_token(std::string_view text,
                                     std::size_t at,
                                     std::size_t rule,
                                     std::size_t& seen,
                                     std::vector<Found>& found) const {
  const TokenRule& token = token_rules()[rule];
  if (at < seen || !may_start(text, at, token.start)) return;
  re2::StringPiece groups[2];
  if (!built_in().tokens[rule]->Match(piece(text), at, text.size(), RE2::ANCHOR_START, groups, 2))
    return;
  seen = at + groups[0].size();
  std::size_t begin = 0;
  std::size_t end = 0;
  if (!place_of(text, groups, begin, end)) return;
  if (token.accepts != nullptr && !token.accepts(text, begin, end)) return;
  found.push_back({begin, end, token.kind, extra.size() + 1 + rule});
}

void MaskRules::Compiled::find_extra(std::string_view text,
                                     const Extra& rule,
                                     std::vector<Found>& found) const {
  const int groups_wanted = rule.pattern->NumberOfCapturingGroups() > 0 ? 2 : 1;
  for (std::size_t at = 0; at <= text.size();) {
    re2::StringPiece groups[2];
    if (!rule.pattern->Match(piece(text), at, text.size(), RE2::UNANCHORED, groups, groups_wanted))
      return;
    std::size_t begin = 0;
    std::size_t end = 0;
    if (place_of(text, groups, begin, end)) {
      // A pattern may ask for single bytes; a character is masked whole.
      while (begin > 0 && is_continuation(text[begin]))
        --begin;
      while (end < text.size() && is_continuation(text[end]))
        ++end;
      found.push_back({begin, end, rule.kind, 1 + static_cast<std::size_t>(&rule - extra.data())});
    }
    const auto matched =
        static_cast<std::size_t>(groups[0].data() - text.data()) + groups[0].size();
    at = std::max(matched, at + 1);
  }
}

std::vector<Found> MaskRules::find(std::string_view text) const {
  std::vector<Found> found;
  for (const auto& rule : compiled_->extra)
    compiled_->find_extra(text, rule, found);
  const BuiltIn& rules = built_in();
  const std::size_t tokens = rules.tokens.size();
  std::vector<std::size_t> seen(tokens + rules.detectors.size(), 0);
  rules.anchors.scan(text, [&](std::size_t at, std::size_t tag) {
    if (tag < tokens) {
      compiled_->find_token(text, at, tag, seen[tag], found);
    } else {
      rules.detectors[tag - tokens].find(text, at, seen[tag], found);
    }
  });
  find_dotted_tokens(text, found);
  return found;
}

}  // namespace respool
