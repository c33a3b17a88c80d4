#include "query/replay/mask.h"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include "query/replay/mask_rules.h"
#include "query/replay/mask_scan.h"
#include "query/replay/mask_value.h"

namespace respool {
namespace {

constexpr std::string_view kOpen = "⟦secret:";
constexpr std::string_view kClose = "⟧";

// A placeholder in a text: its end and what it says.
struct Placeholder {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::string_view kind;
  std::uint64_t number = 0;
};

std::optional<Placeholder> placeholder_at(std::string_view text, std::size_t at) {
  constexpr std::size_t kMostDigits = 9;
  std::size_t i = at + kOpen.size();
  const std::size_t kind = i;
  while (i < text.size() && i - kind < 32 &&
         (is_lower(text[i]) || is_digit(text[i]) || text[i] == '-'))
    ++i;
  if (i == kind || i >= text.size() || text[i] != '#') return std::nullopt;
  Placeholder found{at, 0, text.substr(kind, i - kind), 0};
  const std::size_t digits = ++i;
  while (i < text.size() && i - digits < kMostDigits && is_digit(text[i]))
    found.number = found.number * 10 + static_cast<std::uint64_t>(text[i++] - '0');
  if (i == digits || !text.substr(i).starts_with(kClose)) return std::nullopt;
  found.end = i + kClose.size();
  return found;
}

std::optional<Placeholder> next_placeholder(std::string_view text, std::size_t from) {
  for (auto at = text.find(kOpen, from); at != std::string_view::npos;
       at = text.find(kOpen, at + 1))
    if (auto found = placeholder_at(text, at)) return found;
  return std::nullopt;
}

// `value` as it reads outside a JSON string, and as it reads inside one.
std::string unescaped(std::string_view value) {
  std::string plain;
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (value[i] == '\\' && i + 1 < value.size() &&
        std::string_view("\\\"/").find(value[i + 1]) != std::string_view::npos)
      ++i;
    plain += value[i];
  }
  return plain;
}
std::string escaped(std::string_view value) {
  std::string json;
  for (const char c : value) {
    if (c == '\\' || c == '"') json += '\\';
    json += c;
  }
  return json;
}

int hex_digit(char c) {
  return is_digit(c) ? c - '0' : fold(c) - 'a' + 10;
}

std::string percent_decoded(std::string_view value) {
  std::string plain;
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (value[i] == '%' && i + 2 < value.size() && is_hex(value[i + 1]) && is_hex(value[i + 2])) {
      plain += static_cast<char>(hex_digit(value[i + 1]) * 16 + hex_digit(value[i + 2]));
      i += 2;
    } else {
      plain += value[i];
    }
  }
  return plain;
}

// The long lines of a private key: what identifies it, however its lines are set off.
std::vector<std::string> pem_lines(std::string_view block) {
  constexpr std::size_t kLeast = 32;
  std::vector<std::string> lines;
  std::string line;
  const auto flush = [&] {
    if (line.size() >= kLeast) lines.push_back(line);
    line.clear();
  };
  for (std::size_t i = 0; i < block.size(); ++i) {
    if (block[i] == '\\' && i + 1 < block.size() && block[i + 1] == '/') continue;
    if (is_alnum(block[i]) || block[i] == '+' || block[i] == '/' || block[i] == '=') {
      line += block[i];
    } else {
      flush();
      // \n and \r inside JSON are no part of the key.
      if (block[i] == '\\') {
        while (i + 1 < block.size() && block[i + 1] == '\\')
          ++i;
        ++i;
      }
    }
  }
  flush();
  return lines;
}

// From left to right; of two that begin at one place the one that says more first.
void sort_finds(std::vector<Found>& found) {
  std::sort(found.begin(), found.end(), [](const Found& a, const Found& b) {
    if (a.begin != b.begin) return a.begin < b.begin;
    if (a.rank != b.rank) return a.rank < b.rank;
    return a.end > b.end;
  });
}

}  // namespace

struct Masker::State {
  explicit State(MaskRules all) : rules(std::move(all)) {}

  // A stretch of a text and the secret it is.
  struct Span {
    std::size_t begin = 0;
    std::size_t end = 0;
    SecretId id;
  };

  std::size_t kind_index(std::string_view kind);
  void reserve(const Placeholder& placeholder);
  SecretId next_of(std::string_view kind);
  SecretId identify(std::string_view kind, std::string_view value);
  std::vector<Span> learn_segment(std::string_view text);
  void mask_segment(std::string_view text, std::string& out);

  MaskRules rules;
  std::vector<std::string> kinds;
  std::vector<std::uint64_t> last_number;  // by kind
  std::map<std::string, std::size_t, std::less<>> kind_of;
  std::map<std::string, SecretId> secrets;  // by identity
  KnownValues known;
  std::map<std::string, std::uint64_t> counts;
};

std::size_t Masker::State::kind_index(std::string_view kind) {
  const auto at = kind_of.find(kind);
  if (at != kind_of.end()) return at->second;
  kinds.emplace_back(kind);
  last_number.push_back(0);
  kind_of.emplace(kind, kinds.size() - 1);
  return kinds.size() - 1;
}

void Masker::State::reserve(const Placeholder& placeholder) {
  auto& last = last_number[kind_index(placeholder.kind)];
  last = std::max(last, placeholder.number);
}

// Numbers a secret where it is new, and makes the forms known in which it may stand elsewhere.
SecretId Masker::State::next_of(std::string_view kind) {
  const std::size_t index = kind_index(kind);
  return {index, ++last_number[index]};
}

SecretId Masker::State::identify(std::string_view kind, std::string_view value) {
  std::vector<std::string> forms;     // as it may stand elsewhere
  std::vector<std::string> identity;  // any of these says which secret it is
  if (kind == kPemKind) {
    forms = pem_lines(value);
    // Many keys have their first line in common.
    identity = forms;
    if (identity.size() > 1) identity.erase(identity.begin());
  } else {
    identity = {unescaped(value)};
    const std::string& plain = identity.front();
    forms = {
        std::string(value), plain, escaped(plain), escaped(escaped(plain)), percent_decoded(plain)};
  }
  std::optional<SecretId> same;
  for (const auto& part : identity)
    if (const auto at = secrets.find(part); !same && at != secrets.end()) same = at->second;
  const SecretId id = same ? *same : next_of(kind);
  for (auto& part : identity)
    secrets.emplace(std::move(part), id);
  for (const auto& form : forms)
    if (is_recognizable(form)) known.add(form, id);
  return id;
}

std::vector<Masker::State::Span> Masker::State::learn_segment(std::string_view text) {
  std::vector<Found> found = rules.find(text);
  sort_finds(found);
  std::vector<Span> spans;
  // Of finds that overlap the first one stays; what sticks out of a later one is masked as its own.
  std::size_t covered = 0;
  for (const auto& each : found) {
    if (each.end <= covered) continue;
    const SecretId id = identify(each.kind, text.substr(each.begin, each.end - each.begin));
    spans.push_back({std::max(each.begin, covered), each.end, id});
    covered = each.end;
  }
  return spans;
}

void Masker::State::mask_segment(std::string_view text, std::string& out) {
  std::vector<Span> spans = learn_segment(text);
  known.index();
  const std::size_t by_rule = spans.size();
  known.scan(text, [&](std::size_t at, std::size_t size, SecretId id) {
    spans.push_back({at, at + size, id});
  });
  std::inplace_merge(spans.begin(),
                     spans.begin() + static_cast<std::ptrdiff_t>(by_rule),
                     spans.end(),
                     [](const Span& a, const Span& b) { return a.begin < b.begin; });
  std::size_t copied = 0;
  for (const auto& span : spans) {
    if (span.end <= copied) continue;
    const std::size_t begin = std::max(span.begin, copied);
    out += text.substr(copied, begin - copied);
    out += fmt::format("{}{}#{}{}", kOpen, kinds[span.id.kind], span.id.number, kClose);
    ++counts[kinds[span.id.kind]];
    copied = span.end;
  }
  out += text.substr(copied);
}

Masker::Masker(std::unique_ptr<State> state) : state_(std::move(state)) {}
Masker::Masker(Masker&&) noexcept = default;
Masker& Masker::operator=(Masker&&) noexcept = default;
Masker::~Masker() = default;

Result<Masker> Masker::make(const std::vector<MaskRule>& extra) {
  RESPOOL_TRY(auto rules, MaskRules::make(extra));
  return Masker(std::make_unique<State>(std::move(rules)));
}

void Masker::learn(std::string_view text) {
  std::size_t at = 0;
  while (const auto placeholder = next_placeholder(text, at)) {
    state_->reserve(*placeholder);
    state_->learn_segment(text.substr(at, placeholder->begin - at));
    at = placeholder->end;
  }
  state_->learn_segment(text.substr(at));
}

std::string Masker::mask(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  std::size_t at = 0;
  while (const auto placeholder = next_placeholder(text, at)) {
    state_->reserve(*placeholder);
    state_->mask_segment(text.substr(at, placeholder->begin - at), out);
    out += text.substr(placeholder->begin, placeholder->end - placeholder->begin);
    at = placeholder->end;
  }
  state_->mask_segment(text.substr(at), out);
  return out;
}

const std::map<std::string, std::uint64_t>& Masker::counts() const {
  return state_->counts;
}

}  // namespace respool
