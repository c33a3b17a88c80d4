#include "query/replay/mask_tokens.h"

#include <algorithm>
#include <array>

#include "query/replay/mask_value.h"

namespace respool {
namespace {

constexpr std::size_t kContextBytes = 256;

bool stands_alone(std::string_view text, std::size_t&, std::size_t& end) {
  return ends_word(text, end);
}

// A token of letters and digits, as against a name made of words: "sk-learn-contrib".
bool random_word(std::string_view text, std::size_t& begin, std::size_t& end) {
  return looks_random(text.substr(begin, end - begin));
}

// AWS shows ids that end so in its manuals.
bool aws_id(std::string_view text, std::size_t& begin, std::size_t& end) {
  return stands_alone(text, begin, end) && !text.substr(begin, end - begin).ends_with("EXAMPLE");
}

// 32 hexadecimal digits are anything, unless Twilio or an account's id is near.
bool twilio_key(std::string_view text, std::size_t& begin, std::size_t& end) {
  if (!stands_alone(text, begin, end)) return false;
  const std::size_t from = begin - std::min(begin, kContextBytes);
  const std::string_view near = text.substr(from, end - from + kContextBytes);
  return contains_folded(near, "twilio");
}

// The bot's number stands before the colon: 8 to 10 digits.
bool telegram_token(std::string_view text, std::size_t& begin, std::size_t& end) {
  std::size_t first = begin;
  while (first > 0 && begin - first <= 10 && is_digit(text[first - 1]))
    --first;
  const std::size_t digits = begin - first;
  if (digits < 8 || digits > 10 || !ends_word(text, end) || (end < text.size() && text[end] == '-'))
    return false;
  begin = first;
  return true;
}

bool bearer_value(std::string_view text, std::size_t& begin, std::size_t& end) {
  const std::string_view value = text.substr(begin, end - begin);
  return !is_stand_in(value) &&
         (looks_random(value) || looks_secret(value, Written::Quoted, Holds::Key));
}

int sextet(char c) {
  if (is_upper(c)) return c - 'A';
  if (is_lower(c)) return c - 'a' + 26;
  if (is_digit(c)) return c - '0' + 52;
  return c == '+' || c == '-' ? 62 : 63;
}

// Base64 of "name:password": a colon and printable text.
bool basic_value(std::string_view text, std::size_t& begin, std::size_t& end) {
  bool colon = false;
  unsigned bits = 0;
  int have = 0;
  for (const char c : text.substr(begin, end - begin)) {
    if (c == '=') break;
    bits = (bits << 6 | static_cast<unsigned>(sextet(c))) & 0xFFFF;
    have += 6;
    if (have < 8) continue;
    have -= 8;
    const unsigned byte = bits >> have & 0xFF;
    if (byte < 0x20) return false;
    colon |= byte == ':';
  }
  return colon;
}

// The password of a URL: not a word that manuals write there, nor the user's name again.
bool url_password(std::string_view text, std::size_t& begin, std::size_t& end) {
  constexpr std::array<std::string_view, 14> kTrivial = {"pass",
                                                         "pwd",
                                                         "root",
                                                         "postgres",
                                                         "guest",
                                                         "user",
                                                         "mysql",
                                                         "admin",
                                                         "foo",
                                                         "bar",
                                                         "pw",
                                                         "secret",
                                                         "token",
                                                         "test"};
  const std::string_view value = text.substr(begin, end - begin);
  if (is_stand_in(value) || value.find_first_of("{}[]()|") != std::string_view::npos) return false;
  std::size_t user = begin - 1;
  while (user > 0 && begin - user < 128 && text[user - 1] != '/')
    --user;
  if (text.substr(user, begin - 1 - user) == value) return false;
  return std::none_of(kTrivial.begin(), kTrivial.end(), [&](std::string_view word) {
    return value.size() == word.size() && contains_folded(value, word);
  });
}

bool netrc_password(std::string_view text, std::size_t& begin, std::size_t& end) {
  return !is_stand_in(text.substr(begin, end - begin));
}

bool curl_password(std::string_view text, std::size_t& begin, std::size_t& end) {
  return looks_secret(text.substr(begin, end - begin), Written::EnvLine, Holds::Password);
}

// Between the words of a .netrc: blanks, ends of lines (as JSON writes them too), numbers of lines.
#define RESPOOL_GAP R"((?:\s|\\+[nrt]|[0-9]{1,6}[|:])+)"
#define RESPOOL_WORD R"([^\s\\"']+)"

}  // namespace

const std::vector<TokenRule>& token_rules() {
  static const std::vector<TokenRule> kRules = {
      {"anthropic",
       {"sk-ant-"},
       R"((sk-ant-[A-Za-z0-9]{2,12}-[A-Za-z0-9_-]{20,}))",
       Start::Word,
       random_word},
      {"openrouter", {"sk-or-"}, R"((sk-or-v[0-9]-[A-Za-z0-9]{32,}))", Start::Word, nullptr},
      {"openai",
       {"sk-proj-", "sk-svcacct-", "sk-admin-", "sk-None-"},
       R"((sk-(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{20,}))",
       Start::Word,
       random_word},
      {"openai", {"sk-"}, R"((sk-[A-Za-z0-9]{32,}))", Start::Word, random_word},
      {"aws-access-key-id",
       {"AKIA", "ASIA", "ABIA", "ACCA"},
       R"(((?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}))",
       Start::Word,
       aws_id},
      {"github",
       {"ghp_", "gho_", "ghu_", "ghs_", "ghr_"},
       R"((gh[pousr]_[A-Za-z0-9_]{36,}))",
       Start::Word,
       random_word},
      {"github", {"github_pat_"}, R"((github_pat_[A-Za-z0-9_]{50,}))", Start::Word, nullptr},
      {"gitlab",
       {"glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glsoat-", "glagent-"},
       R"((gl(?:pat|dt|rt|cbt|ptt|ft|soat|agent)-[A-Za-z0-9_.-]{19,}[A-Za-z0-9_]))",
       Start::Word,
       nullptr},
      {"slack",
       {"xoxa-", "xoxb-", "xoxe-", "xoxe.", "xoxo-", "xoxp-", "xoxr-", "xoxs-", "xoxc-", "xoxd-"},
       R"((xox[abceoprsd][.-][A-Za-z0-9%.-]{14,}[A-Za-z0-9]))",
       Start::Word,
       nullptr},
      {"slack", {"xapp-"}, R"((xapp-[0-9]-[A-Za-z0-9-]{20,}))", Start::Word, nullptr},
      {"slack-webhook",
       {"hooks.slack.com/"},
       R"((?i)hooks\.slack\.com\\?/(?:services|workflows|triggers)\\?/([A-Za-z0-9/\\]{20,}))",
       Start::Anywhere,
       nullptr},
      {"stripe",
       {"sk_live_", "sk_test_", "rk_live_", "rk_test_"},
       R"(([sr]k_(?:live|test)_[A-Za-z0-9]{16,}))",
       Start::Word,
       random_word},
      {"stripe", {"whsec_"}, R"((whsec_[A-Za-z0-9+/=]{24,}))", Start::Word, nullptr},
      {"google-api-key", {"AIza"}, R"((AIza[A-Za-z0-9_-]{35}))", Start::Word, stands_alone},
      {"google-oauth", {"ya29."}, R"((ya29\.[A-Za-z0-9_.-]{20,}))", Start::Word, nullptr},
      {"google-oauth", {"GOCSPX-"}, R"((GOCSPX-[A-Za-z0-9_-]{20,}))", Start::Word, nullptr},
      {"google-oauth", {"1//0"}, R"((1//0[A-Za-z0-9_-]{40,}))", Start::Word, nullptr},
      {"npm", {"npm_"}, R"((npm_[A-Za-z0-9]{36}))", Start::Word, random_word},
      {"pypi", {"pypi-"}, R"((pypi-[A-Za-z0-9_-]{50,}))", Start::Word, nullptr},
      {"huggingface", {"hf_"}, R"((hf_[A-Za-z0-9]{30,}))", Start::Word, stands_alone},
      {"sendgrid",
       {"SG."},
       R"((SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32,64}))",
       Start::Word,
       nullptr},
      {"twilio",
       {"SK0",
        "SK1",
        "SK2",
        "SK3",
        "SK4",
        "SK5",
        "SK6",
        "SK7",
        "SK8",
        "SK9",
        "SKa",
        "SKb",
        "SKc",
        "SKd",
        "SKe",
        "SKf"},
       R"((SK[0-9a-f]{32}))",
       Start::Word,
       twilio_key},
      {"telegram", {":AA"}, R"((:AA[A-Za-z0-9_-]{33}))", Start::Anywhere, telegram_token},
      {"discord-webhook",
       {"discord.com/api/", "discordapp.com/api/"},
       R"((?i)discord(?:app)?\.com/api/(?:v[0-9]+/)?webhooks/[0-9]{15,21}/([A-Za-z0-9_-]{40,}))",
       Start::Anywhere,
       nullptr},
      {"azure-storage",
       {"AccountKey=", "SharedAccessKey="},
       R"((?i)(?:AccountKey|SharedAccessKey)=([A-Za-z0-9+/\\]{40,}={0,2}))",
       Start::Anywhere,
       nullptr},
      {"azure-sas",
       {"?sig=", "&sig=", "u0026sig=", ";sig="},
       R"((?i)[^=]{1,6}sig=([A-Za-z0-9%+/_-]{40,}={0,2}))",
       Start::Anywhere,
       nullptr},
      {"shopify",
       {"shpat_", "shpca_", "shppa_", "shpss_"},
       R"((shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}))",
       Start::Word,
       stands_alone},
      {"digitalocean",
       {"dop_v1_", "doo_v1_", "dor_v1_"},
       R"((do[opr]_v1_[0-9a-f]{64}))",
       Start::Word,
       stands_alone},
      {"databricks", {"dapi"}, R"((dapi[0-9a-f]{32}(?:-[0-9])?))", Start::Word, stands_alone},
      {"groq", {"gsk_"}, R"((gsk_[A-Za-z0-9]{40,}))", Start::Word, random_word},
      {"xai", {"xai-"}, R"((xai-[A-Za-z0-9]{60,}))", Start::Word, random_word},
      {"linear",
       {"lin_api_", "lin_oauth_"},
       R"((lin_(?:api|oauth)_[A-Za-z0-9]{32,}))",
       Start::Word,
       random_word},
      {"vault",
       {"hvs.", "hvb.", "hvr."},
       R"((hv[sbr]\.[A-Za-z0-9_-]{24,}))",
       Start::Word,
       random_word},
      {"grafana",
       {"glsa_", "glc_"},
       R"((gl(?:sa|c)_[A-Za-z0-9_+/=]{32,}))",
       Start::Word,
       random_word},
      {"postman", {"PMAK-"}, R"((PMAK-[0-9a-f]{24}-[0-9a-f]{34}))", Start::Word, nullptr},
      {"age", {"AGE-SECRET-KEY-1"}, R"((AGE-SECRET-KEY-1[A-Z0-9]{58}))", Start::Word, nullptr},
      {"jwt",
       {"eyJ"},
       R"((eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}))",
       Start::Run,
       nullptr},
      {"basic-auth",
       {"authorization"},
       R"((?i)authorization\\*["'`]?\]?\s*[:=,]\s*\\*["'`]?\s*basic\s+([A-Za-z0-9+/_-]{6,}={0,2}))",
       Start::Anywhere,
       basic_value},
      {"bearer",
       {"authorization"},
       R"((?i)authorization\\*["'`]?\]?\s*[:=,]\s*\\*["'`]?\s*(?:(?:bearer|token|apikey|key|basic)[\s=]+)?([A-Za-z0-9._~+/-]{12,}={0,2}))",
       Start::Anywhere,
       bearer_value},
      {"bearer",
       {"bearer"},
       R"((?i)bearer(?:\s|%20)+([A-Za-z0-9._~+/-]{16,}={0,2}))",
       Start::Anywhere,
       bearer_value},
      {"url-password",
       {"://"},
       R"(://[^\s/:@"'`<>?#\\]{0,128}:([^\s/"'`<>?#\\]{3,256})@[A-Za-z0-9\[$%])",
       Start::Anywhere,
       url_password},
      {"netrc",
       {"machine"},
       "(?i)machine" RESPOOL_GAP RESPOOL_WORD RESPOOL_GAP
       "(?:(?:login|account)" RESPOOL_GAP RESPOOL_WORD RESPOOL_GAP "){0,2}password" RESPOOL_GAP
       "(" RESPOOL_WORD ")",
       Start::Anywhere,
       netrc_password},
      {"basic-auth",
       {" -u ", " --user ", " --user="},
       R"( (?:-u |--user[ =])\\*["']?[^\s:"'\\]{1,128}:([^\s"'\\]{8,256}))",
       Start::Anywhere,
       curl_password},
  };
  return kRules;
}

}  // namespace respool
