#include <algorithm>
#include <array>
#include <optional>

#include "query/replay/mask_rules.h"
#include "query/replay/mask_value.h"

// Secrets that lie in a larger shape: private keys, OpenCode's auth.json, cookies, Discord's
// tokens.

namespace respool {
namespace {

constexpr std::size_t kPemRank = 0;
constexpr std::size_t kShapeRank = 900;
constexpr auto kNowhere = std::string_view::npos;

bool is_base64(char c) {
  return is_alnum(c) || c == '+' || c == '/' || c == '=';
}

// What may stand in a private key beside its base64: ends of lines, headers, numbers of lines, the
// signs of a difference, quotes and pluses of a string that code has cut into lines.
bool is_pem_byte(char c) {
  constexpr std::string_view kBeside = " \t\r\n\\\"',:|.;()_+-<>*#@";
  return is_base64(c) || kBeside.find(c) != kNowhere;
}

// "-----BEGIN RSA PRIVATE KEY-----": `at` is where "PRIVATE KEY" stands. Where the body begins.
std::optional<std::size_t> pem_body(std::string_view text, std::size_t at, std::size_t& begin) {
  constexpr std::string_view kBegin = "-----BEGIN ";
  constexpr std::size_t kLongestLabel = 32;
  const std::size_t from = at - std::min(at, kLongestLabel + kBegin.size());
  const std::size_t head = text.substr(from, at - from).rfind(kBegin);
  if (head == kNowhere) return std::nullopt;
  begin = from + head;
  std::size_t end = at + std::string_view("PRIVATE KEY").size();
  if (text.substr(end).starts_with(" BLOCK")) end += 6;
  if (!text.substr(end).starts_with("-----")) return std::nullopt;
  return end + 5;
}

// Masks the block from BEGIN to END, or to where the key breaks off.
void find_pem(std::string_view text, std::size_t at, std::size_t& seen, std::vector<Found>& found) {
  if (at < seen) return;
  std::size_t begin = 0;
  const auto body = pem_body(text, at, begin);
  if (!body) return;
  std::size_t end = *body;
  std::size_t run = 0;
  std::size_t longest = 0;
  std::size_t last_base64 = end;
  for (; end < text.size() && is_pem_byte(text[end]); ++end) {
    if (text[end] == '-' && text.substr(end).starts_with("-----")) break;
    run = is_base64(text[end]) ? run + 1 : 0;
    longest = std::max(longest, run);
    if (run >= 16) last_base64 = end + 1;
  }
  seen = end;
  constexpr std::size_t kLeastLine = 40;
  if (longest < kLeastLine) return;  // the words alone, in code or in a manual
  constexpr std::string_view kEnd = "-----END ";
  if (text.substr(end).starts_with(kEnd)) {
    const std::size_t close = text.substr(end + kEnd.size(), 64).find("-----");
    end = close == kNowhere ? end + kEnd.size() : end + kEnd.size() + close + 5;
  } else {
    end = last_base64;
  }
  seen = end;
  found.push_back({begin, end, kPemKind, kPemRank});
}

// The string that `"name": "` opens in `object`, where the name stands in quotes.
std::optional<Found> member(std::string_view text,
                            std::size_t from,
                            std::size_t to,
                            std::string_view name) {
  const std::string_view object = text.substr(from, to - from);
  for (std::size_t at = object.find(name); at != kNowhere; at = object.find(name, at + 1)) {
    std::size_t i = at + name.size();
    if (at == 0 || object[at - 1] != '"') continue;
    const auto skip = [&](std::string_view bytes) {
      while (i < object.size() && bytes.find(object[i]) != kNowhere)
        ++i;
    };
    skip("\\");
    if (i >= object.size() || object[i] != '"') continue;
    ++i;
    skip(" \t\r\n:\\n");
    if (i >= object.size() || object[i] != '"') continue;
    const std::size_t begin = i + 1;
    const std::size_t end = object.find_first_of("\"\\", begin);
    return Found{from + begin, from + std::min(end, object.size()), "opencode-auth", kShapeRank};
  }
  return std::nullopt;
}

// The name of a type, before the backslashes that may escape its quote.
bool is_type(std::string_view word) {
  while (word.ends_with('\\'))
    word.remove_suffix(1);
  return word == "api" || word == "oauth" || word == "wellknown";
}

// {"type":"api","key":"..."}, {"type":"oauth","refresh":"...","access":"..."}, wellknown: the
// object around `at`, which stands on the type.
void find_auth(std::string_view text,
               std::size_t at,
               std::size_t& seen,
               std::vector<Found>& found) {
  constexpr std::size_t kObjectBytes = 16384;
  if (at < seen) return;
  const std::size_t quote = text.substr(at + 1, 16).find('"');
  if (quote == kNowhere || !is_type(text.substr(at + 1, quote))) return;
  const std::size_t back = at - std::min({at, at - seen, std::size_t{1024}});
  std::string_view before = text.substr(back, at - back);
  const std::size_t open = before.rfind('{');
  const std::size_t from = open == kNowhere ? back : back + open;
  before = text.substr(from, at - from);
  if (const auto type = before.rfind("type"); type == kNowhere || before.size() - type > 16) return;
  const std::size_t close = text.substr(at, kObjectBytes).find('}');
  const std::size_t to = close == kNowhere ? std::min(text.size(), at + kObjectBytes) : at + close;
  seen = to;
  for (const auto name : {"key", "refresh", "access", "token"}) {
    const auto value = member(text, from, to, name);
    if (!value) continue;
    const std::string_view bytes = text.substr(value->begin, value->end - value->begin);
    if (looks_secret(bytes, Written::Quoted, Holds::Key)) found.push_back(*value);
  }
}

bool is_session_name(std::string_view name) {
  constexpr std::array<std::string_view, 7> kWords = {
      "sess", "sid", "auth", "token", "jwt", "login", "csrf"};
  return std::any_of(kWords.begin(), kWords.end(), [&](std::string_view word) {
    return contains_folded(name, word);
  });
}

bool is_cookie_byte(char c) {
  return c > ' ' && c < 0x7F && std::string_view("\"',;\\").find(c) == kNowhere;
}

// "Cookie: a=1; session=..." and "Set-Cookie: session=...; Path=/": `at` stands on "cookie".
void find_cookies(std::string_view text,
                  std::size_t at,
                  std::size_t& seen,
                  std::vector<Found>& found) {
  if (at < seen) return;
  std::size_t i = at + 6;
  while (i < text.size() && i < at + 16 && std::string_view(" :='\"\\").find(text[i]) != kNowhere)
    ++i;
  if (i == at + 6) return;
  while (i < text.size()) {
    const std::size_t name = i;
    while (i < text.size() && i - name < 128 && is_cookie_byte(text[i]) && text[i] != '=')
      ++i;
    if (i == name || i >= text.size() || text[i] != '=') break;
    const std::size_t begin = ++i;
    while (i < text.size() && is_cookie_byte(text[i]))
      ++i;
    const std::string_view value = text.substr(begin, i - begin);
    const Written written =
        is_session_name(text.substr(name, begin - 1 - name)) ? Written::Quoted : Written::Bare;
    const bool secret = written == Written::Quoted
                            ? looks_secret(value, written, Holds::Key)
                            : value.size() >= 32 && looks_random(value) && !is_stand_in(value);
    if (secret) found.push_back({begin, i, "cookie", kShapeRank});
    if (i >= text.size() || text[i] != ';') break;
    while (i < text.size() && (text[i] == ';' || text[i] == ' '))
      ++i;
  }
  seen = i;
}

bool is_token_byte(char c) {
  return is_alnum(c) || c == '_' || c == '-';
}

// The first part of a Discord token is base64 of the bot's number: 17 to 20 digits.
bool is_number_in_base64(std::string_view part) {
  if (part.size() < 23 || part.size() > 28) return false;
  // Three digits become four characters, of which the first is M, N or O and the third one of few.
  for (std::size_t i = 0; i < part.size(); i += 4)
    if (part[i] != 'M' && part[i] != 'N' && part[i] != 'O') return false;
  return true;
}

}  // namespace

void find_dotted_tokens(std::string_view text, std::vector<Found>& found) {
  constexpr std::size_t kMiddle = 6;
  constexpr std::size_t kLeastTail = 27;
  std::size_t seen = 0;
  for (std::size_t dot = text.find('.'); dot != kNowhere; dot = text.find('.', dot + 1)) {
    const std::size_t second = dot + kMiddle + 1;
    if (second >= text.size()) return;
    if (text[second] != '.') continue;
    std::size_t begin = dot;
    while (begin > seen && dot - begin <= 28 && is_token_byte(text[begin - 1]))
      --begin;
    // What ends an escape before the token is not its own: "\nMTIz...", "ESC[32mMTIz...".
    while (begin < dot &&
           !(starts_word(text, begin) && is_number_in_base64(text.substr(begin, dot - begin))))
      ++begin;
    if (begin == dot) continue;
    if (!std::all_of(text.begin() + static_cast<std::ptrdiff_t>(dot) + 1,
                     text.begin() + static_cast<std::ptrdiff_t>(second),
                     is_token_byte))
      continue;
    std::size_t end = second + 1;
    while (end < text.size() && is_token_byte(text[end]))
      ++end;
    if (end - second - 1 < kLeastTail) continue;
    found.push_back({begin, end, "discord", kShapeRank});
    seen = end;
    dot = end - 1;
  }
}

const std::vector<Detector>& block_detectors() {
  static const std::vector<Detector> kDetectors = {
      {{"private key"}, find_pem},
      {{"\"api", "\"oauth", "\"wellknown"}, find_auth},
      {{"cookie"}, find_cookies},
  };
  return kDetectors;
}

}  // namespace respool
