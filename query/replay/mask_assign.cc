#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "query/replay/mask_rules.h"
#include "query/replay/mask_value.h"

// Values assigned to a name that says it holds a secret: NAME=value, "name": "value", --name value,
// <name>value</name>, ("NAME", "value"), {"name": "NAME", "value": "value"}.

namespace respool {
namespace {

constexpr std::size_t kNameBytes = 64;
constexpr std::size_t kGapBytes = 32;
constexpr std::size_t kValueBytes = 2048;    // what is longer is no value of this kind
constexpr std::size_t kAssignedRank = 1000;  // after every token that gives itself away

bool is_name_byte(char c) {
  return is_alnum(c) || c == '_' || c == '-' || c == '.';
}

struct Name {
  std::size_t begin = 0;
  std::size_t end = 0;
};

struct Meaning {
  Holds holds = Holds::Key;
  std::string_view kind;
};

// The whole name around `at`.
Name name_around(std::string_view text, std::size_t at) {
  Name name{at, at};
  while (name.begin > 0 && at - name.begin < kNameBytes && is_name_byte(text[name.begin - 1]))
    --name.begin;
  while (name.end < text.size() && name.end - at < kNameBytes && is_name_byte(text[name.end]))
    ++name.end;
  // What an escape of JSON ("\nAPI_KEY") or of a terminal ("ESC[32mAPI_KEY") ends with is not the
  // name's.
  const char before = name.begin > 0 ? text[name.begin - 1] : ' ';
  if (before == '\\' && name.begin < at) ++name.begin;
  if (before == '[' || before == ';') {
    std::size_t escape = name.begin;
    while (escape < at && is_digit(text[escape]))
      ++escape;
    if (escape < at && text[escape] == 'm') name.begin = escape + 1;
  }
  return name;
}

// The name in small letters without separators, and without what only says which one:
// API_KEY_PROD_2.
std::string folded(std::string_view name) {
  constexpr std::array<std::string_view, 9> kWhich = {
      "prod", "production", "dev", "staging", "live", "value", "base", "default", "v"};
  std::string bare;
  for (const char c : name)
    if (is_alnum(c)) bare += fold(c);
  for (bool shorter = true; shorter;) {
    shorter = false;
    while (!bare.empty() && is_digit(bare.back())) {
      bare.pop_back();
      shorter = true;
    }
    for (const auto word : kWhich) {
      if (word.size() >= bare.size() || !bare.ends_with(word)) continue;
      bare.resize(bare.size() - word.size());
      shorter = true;
    }
  }
  return bare;
}

// What a name says its value is; nothing where it says no secret: max_tokens, tokenizer,
// next_token.
std::optional<Meaning> meaning_of(std::string_view name) {
  constexpr std::array<std::string_view, 6> kPasswords = {
      "password", "passwd", "passphrase", "pwd", "dbpass", "passcode"};
  constexpr std::array<std::string_view, 18> kKeys = {"secret",
                                                      "apikey",
                                                      "accesskey",
                                                      "secretkey",
                                                      "privatekey",
                                                      "authkey",
                                                      "masterkey",
                                                      "accountkey",
                                                      "encryptionkey",
                                                      "signingkey",
                                                      "sharedkey",
                                                      "credential",
                                                      "sessionkey",
                                                      "credentials",
                                                      "npmauth",
                                                      "apisecret",
                                                      "subscriptionkey",
                                                      "licensekey"};
  constexpr std::array<std::string_view, 6> kPlaces = {
      "nexttoken", "pagetoken", "continuationtoken", "cancellationtoken", "synctoken", "prevtoken"};
  const std::string bare = folded(name);
  const auto ends = [&](std::string_view word) { return bare.ends_with(word); };
  if (ends("secretaccesskey") || ends("awssecretkey")) return Meaning{Holds::Key, "aws-secret-key"};
  if (std::any_of(kPasswords.begin(), kPasswords.end(), ends) || name.ends_with("_PASS"))
    return Meaning{Holds::Password, "password"};
  if (ends("token")) {
    if (std::any_of(kPlaces.begin(), kPlaces.end(), ends)) return std::nullopt;
    return Meaning{Holds::Key, "token"};
  }
  if (std::any_of(kKeys.begin(), kKeys.end(), ends) || name == "_auth" || name.ends_with(":_auth"))
    return Meaning{Holds::Key, "key"};
  return std::nullopt;
}

std::size_t skip(std::string_view text, std::size_t at, std::string_view bytes) {
  const std::size_t limit = std::min(text.size(), at + kGapBytes);
  while (at < limit && bytes.find(text[at]) != std::string_view::npos)
    ++at;
  return at;
}

bool is_quote(char c) {
  return c == '"' || c == '\'' || c == '`';
}

// Ends of lines and indentation, as they are and as JSON writes them, and numbers of lines.
std::size_t skip_lines(std::string_view text, std::size_t at) {
  const std::size_t limit = std::min(text.size(), at + kGapBytes);
  while (at < limit) {
    std::size_t end = skip(text, at, " \n\r\t");
    if (end < limit && text[end] == '\\') {
      const std::size_t letter = skip(text, end, "\\");
      if (letter < limit && std::string_view("nrt").find(text[letter]) != std::string_view::npos)
        end = letter + 1;
    }
    const std::size_t number = skip(text, end, "0123456789");
    if (number > end && number < limit && text[number] == '|') end = number + 1;
    if (end == at) break;
    at = end;
  }
  return at;
}

struct Value {
  std::size_t begin = 0;
  std::size_t end = 0;
  Written written = Written::Bare;
};

// What stands between the quote at `at`, behind `slashes` backslashes, and the one that closes it.
std::optional<Value> quoted_value(std::string_view text, std::size_t at, std::size_t slashes) {
  const char quote = text[at];
  const std::size_t begin = at + 1;
  const std::size_t limit = std::min(text.size(), begin + kValueBytes);
  std::size_t run = 0;
  for (std::size_t i = begin; i < limit; ++i) {
    if (text[i] == '\\') {
      ++run;
      continue;
    }
    if (text[i] == '\n' || text[i] == '\r') return std::nullopt;
    if (text[i] == quote && run <= slashes) return Value{begin, i - run, Written::Quoted};
    run = 0;
  }
  // Cut off: what is there is masked.
  if (limit == text.size()) return Value{begin, limit, Written::Quoted};
  return std::nullopt;
}

using ByteSet = std::array<bool, 256>;

// Blanks, control bytes, and `signs`.
constexpr ByteSet stops_of(std::string_view signs) {
  ByteSet set{};
  for (std::size_t byte = 0; byte <= ' '; ++byte)
    set[byte] = true;
  set[0x7F] = true;
  for (const char c : signs)
    set[static_cast<unsigned char>(c)] = true;
  return set;
}
constexpr ByteSet kEnvStops = stops_of("\"'`\\|&");
constexpr ByteSet kBareStops = stops_of("\"'`\\|&,;<>(){}[]");

Value bare_value(std::string_view text, std::size_t at, bool env) {
  const auto& stops = env ? kEnvStops : kBareStops;
  const std::size_t limit = std::min(text.size(), at + kValueBytes);
  std::size_t end = at;
  while (end < limit && !stops[static_cast<unsigned char>(text[end])])
    ++end;
  if (end == at + kValueBytes) return {at, at, Written::Bare};
  // A call or an index: what was read is the name of something.
  const bool call =
      !env && end < text.size() && (text[end] == '(' || text[end] == '[' || text[end] == '{');
  if (call) end = at;
  while (end > at && std::string_view(";,)]}").find(text[end - 1]) != std::string_view::npos)
    --end;
  return {at, end, env ? Written::EnvLine : Written::Bare};
}

// The value at `at`, behind blanks, quotes, and the letter that some languages put before a quote.
std::optional<Value> value_at(std::string_view text, std::size_t at, bool env) {
  at = skip(text, at, " \t");
  std::size_t quote = at;
  if (quote + 1 < text.size() &&
      std::string_view("bBuUrRL@").find(text[quote]) != std::string_view::npos)
    ++quote;
  const std::size_t slashes_at = quote;
  quote = skip(text, quote, "\\");
  if (quote < text.size() && is_quote(text[quote])) {
    auto value = quoted_value(text, quote, quote - slashes_at);
    if (value && env) value->written = Written::EnvLine;
    return value;
  }
  if (at >= text.size()) return std::nullopt;
  return bare_value(text, at, env);
}

bool stands_at(std::string_view text, std::size_t at, std::string_view word) {
  return at <= text.size() && contains_folded(text.substr(at, word.size()), word);
}

// NAME=value without blanks, in capitals: a shell or a file of variables.
bool is_env_name(std::string_view name) {
  return std::all_of(
      name.begin(), name.end(), [](char c) { return is_upper(c) || is_digit(c) || c == '_'; });
}

// {"name": "API_KEY", "value": "..."} and the same in YAML: `at` is behind the name.
std::optional<Value> named_value(std::string_view text, std::size_t at) {
  at = skip_lines(text, skip(text, at, ","));
  at = skip(text, at, "\\\"'");
  if (!stands_at(text, at, "value")) return std::nullopt;
  at = skip(text, at + 5, "\\\"' ");
  if (at >= text.size() || text[at] != ':') return std::nullopt;
  return value_at(text, at + 1, false);
}

std::optional<Value> value_of(std::string_view text, const Name& name) {
  const std::string_view written = text.substr(name.begin, name.end - name.begin);
  std::size_t at = skip(text, name.end, "\\");
  const bool quoted = at < text.size() && is_quote(text[at]);
  at = quoted ? at + 1 : name.end;
  if (at < text.size() && text[at] == ']') ++at;
  const std::size_t close = at;
  at = skip(text, at, " \t");
  if (at >= text.size()) return std::nullopt;
  const bool tight = at == close && !quoted;
  switch (text[at]) {
    case '=':
      at = skip(text, at, "=>");
      return value_at(text, at, tight && is_env_name(written));
    case ':':
      at = skip(text, at, ":=");
      return value_at(text, at, false);
    case '>': {  // an element of XML
      if (!tight || name.begin == 0 || text[name.begin - 1] != '<') return std::nullopt;
      auto value = value_at(text, at + 1, false);
      if (value) value->written = Written::Quoted;
      return value;
    }
    case ',': {  // arguments; or a pair of name and value
      if (!quoted) return std::nullopt;
      if (const auto named = named_value(text, at)) return named;
      const auto value = value_at(text, at + 1, false);
      return value && value->written == Written::Quoted ? value : std::nullopt;
    }
    default:
      break;
  }
  // "--token value"; "- name: TOKEN" and a line "value: ..." below.
  if (written.starts_with("--") && at > close) {
    auto value = value_at(text, at, false);
    if (value) value->written = Written::Quoted;
    return value;
  }
  if (text[at] == '\n' || text[at] == '\r' || text[at] == '\\') return named_value(text, at);
  return std::nullopt;
}

void find_assignment(std::string_view text,
                     std::size_t at,
                     std::size_t& seen,
                     std::vector<Found>& found) {
  if (at < seen) return;  // another word of the same name, or inside a value
  const Name name = name_around(text, at);
  seen = name.end;
  const std::string_view written = text.substr(name.begin, name.end - name.begin);
  const auto meaning = meaning_of(written);
  if (!meaning) return;
  const auto value = value_of(text, name);
  if (!value || value->end <= value->begin) return;
  if (!looks_secret(
          text.substr(value->begin, value->end - value->begin), value->written, meaning->holds))
    return;
  seen = value->end;
  found.push_back({value->begin, value->end, meaning->kind, kAssignedRank});
}

}  // namespace

const std::vector<Detector>& assignment_detectors() {
  static const std::vector<Detector> kDetectors = {
      {{"secret",          "token",
        "passw",           "passphrase",
        "passcode",        "pwd",
        "_pass",           "dbpass",
        "apikey",          "api_key",
        "api-key",         "accesskey",
        "access_key",      "access-key",
        "privatekey",      "private_key",
        "private-key",     "authkey",
        "auth_key",        "auth-key",
        "masterkey",       "master_key",
        "accountkey",      "account_key",
        "encryptionkey",   "encryption_key",
        "encryption-key",  "signingkey",
        "signing_key",     "signing-key",
        "sharedkey",       "shared_key",
        "credential",      "sessionkey",
        "session_key",     "_auth",
        "licensekey",      "license_key",
        "subscriptionkey", "subscription-key",
        "subscription_key"},
       find_assignment},
  };
  return kDetectors;
}

}  // namespace respool
