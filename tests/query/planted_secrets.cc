#include "tests/query/planted_secrets.h"

#include <random>

#include "schema/base64.h"

namespace respool::test {
namespace {

const std::string kUpper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const std::string kLower = "abcdefghijklmnopqrstuvwxyz";
const std::string kDigits = "0123456789";
const std::string kHex = "0123456789abcdef";
const std::string kWord = kUpper + kLower + kDigits;
const std::string kUrlSafe = kWord + "_-";
const std::string kBase64 = kWord + "+/";

// Pieces that no source of ours shows whole.
std::string joined(std::initializer_list<std::string> pieces) {
  std::string whole;
  for (const auto& piece : pieces)
    whole += piece;
  return whole;
}

class Maker {
 public:
  explicit Maker(std::uint32_t seed) : random_(seed) {}

  std::string of(const std::string& alphabet, std::size_t size) {
    std::string text;
    for (std::size_t i = 0; i < size; ++i)
      text += alphabet[random_() % alphabet.size()];
    return text;
  }
  // Begins and ends with a letter or digit, as tokens that are words do.
  std::string url_safe(std::size_t size) {
    return of(kWord, 1) + of(kUrlSafe, size - 2) + of(kWord, 1);
  }

 private:
  std::mt19937 random_;
};

void add_tokens(Maker& make, std::vector<PlantedSecret>& all) {
  const auto add = [&](const std::string& kind, const std::string& secret) {
    all.push_back({kind, "", secret, ""});
  };
  add("aws-access-key-id", joined({"AK", "IA", make.of(kUpper + "234567", 16)}));
  for (const auto* letter : {"p", "o", "u", "s", "r"})
    add("github", joined({"gh", letter, "_", make.of(kWord, 36)}));
  add("github", joined({"github", "_pat_", make.of(kWord, 22), "_", make.of(kWord, 59)}));
  add("gitlab", joined({"gl", "pat-", make.url_safe(20)}));
  add("slack",
      joined(
          {"xo", "xb-", make.of(kDigits, 12), "-", make.of(kDigits, 12), "-", make.of(kWord, 24)}));
  add("slack",
      joined(
          {"xa", "pp-1-A", make.of(kUpper, 9), "-", make.of(kDigits, 12), "-", make.of(kHex, 64)}));
  add("stripe", joined({"sk", "_live_", make.of(kWord, 24)}));
  add("stripe", joined({"rk", "_live_", make.of(kWord, 99)}));
  add("stripe", joined({"wh", "sec_", make.of(kWord, 32)}));
  add("openai", joined({"sk", "-", make.of(kWord, 48)}));
  add("openai", joined({"sk", "-proj-", make.url_safe(74), "T3Blbk", "FJ", make.url_safe(74)}));
  add("openrouter", joined({"sk", "-or-v1-", make.of(kHex, 64)}));
  add("anthropic", joined({"sk", "-ant-api03-", make.url_safe(93), "AA"}));
  add("google-api-key", joined({"AI", "za", make.url_safe(35)}));
  add("google-oauth", joined({"ya", "29.a0", make.url_safe(120)}));
  add("google-oauth", joined({"GOC", "SPX-", make.url_safe(28)}));
  add("npm", joined({"np", "m_", make.of(kWord, 36)}));
  add("pypi", joined({"py", "pi-AgEIcHlwaS5vcmc", make.url_safe(150)}));
  add("huggingface", joined({"h", "f_", make.of(kUpper + kLower, 34)}));
  add("sendgrid", joined({"S", "G.", make.url_safe(22), ".", make.url_safe(43)}));
  add("telegram", joined({make.of("123456789", 10), ":A", "A", make.url_safe(33)}));
  add("discord",
      joined({base64(make.of("123456789", 18)), ".", make.of(kWord, 6), ".", make.url_safe(38)}));
  add("shopify", joined({"shp", "at_", make.of(kHex, 32)}));
  add("digitalocean", joined({"dop", "_v1_", make.of(kHex, 64)}));
  add("databricks", joined({"da", "pi", make.of(kHex, 32)}));
  add("groq", joined({"gs", "k_", make.of(kWord, 52)}));
  add("xai", joined({"xa", "i-", make.of(kWord, 80)}));
  add("linear", joined({"lin", "_api_", make.of(kWord, 40)}));
  add("vault", joined({"hv", "s.", make.url_safe(90)}));
  add("grafana", joined({"gl", "sa_", make.of(kWord, 32), "_", make.of(kHex, 8)}));
  add("postman", joined({"PM", "AK-", make.of(kHex, 24), "-", make.of(kHex, 34)}));
  add("age", joined({"AGE-", "SECRET-KEY-1", make.of(kUpper + kDigits, 58)}));
  add("jwt",
      joined({"ey", "JhbGciOiJIUzI1NiJ9", ".ey", "J", make.url_safe(60), ".", make.url_safe(43)}));
}

void add_in_context(Maker& make, std::vector<PlantedSecret>& all) {
  const auto add = [&](const std::string& kind,
                       const std::string& before,
                       const std::string& secret,
                       const std::string& after = "") {
    all.push_back({kind, before, secret, after});
  };
  add("aws-secret-key", "aws_secret_access_key = ", make.of(kWord, 1) + make.of(kBase64, 39));
  add("aws-secret-key", "\"SecretAccessKey\": \"", make.of(kWord, 1) + make.of(kBase64, 39), "\"");
  add("slack-webhook",
      "https://hooks.slack.com/services/",
      joined({"T",
              make.of(kUpper + kDigits, 10),
              "/B",
              make.of(kUpper + kDigits, 10),
              "/",
              make.of(kWord, 24)}));
  add("discord-webhook",
      "https://discord.com/api/webhooks/" + make.of("123456789", 18) + "/",
      make.url_safe(68));
  add("twilio",
      "twilio.rest Client(AC" + make.of(kHex, 32) + ", ",
      joined({"S", "K", make.of(kHex, 32)}),
      ")");
  add("azure-storage",
      "DefaultEndpointsProtocol=https;AccountName=store;AccountKey=",
      make.of(kBase64, 86) + "==",
      ";EndpointSuffix=core.windows.net");
  add("azure-sas",
      "https://s.blob.core.windows.net/c?sv=2022&se=2026&sig=",
      make.of(kWord, 43) + "%3D");
  add("url-password", "postgres://app:", make.of(kWord + "!$%^*", 14), "@db.internal:5432/main");
  add("url-password", "https://deploy:", make.of(kHex, 20), "@git.internal/team/app.git");
  add("bearer", "Authorization: Bearer ", make.url_safe(40));
  add("bearer", "\"authorization\": \"token ", make.of(kHex, 40), "\"");
  add("basic-auth", "Authorization: Basic ", base64("deploy:" + make.of(kWord, 16)));
  add("basic-auth", "curl -u deploy:", make.of(kWord, 16), " https://ci.internal/");
  add("netrc", "machine git.internal login me password ", make.of(kWord + "!#%", 12));
  add("netrc", "machine git.internal\n\tlogin me\n\tpassword ", make.of(kWord, 12));
  add("password", "DB_PASSWORD=", make.of(kLower, 14));
  add("password", "password: \"", make.of(kLower, 6) + "7!" + make.of(kWord, 4), "\"");
  add("password", "mysql --password ", make.of(kLower, 6) + "7!" + make.of(kWord, 4));
  add("password", "<password>", make.of(kWord, 20), "</password>");
  add("token", "DEPLOY_TOKEN=", make.of(kHex, 40));
  add("token", "export CI_TOKEN='", make.of(kWord, 24), "'");
  add("token",
      "//registry.internal/:_authToken=",
      make.of(kHex, 8) + "-" + make.of(kHex, 4) + "-4" + make.of(kHex, 27));
  add("key", "SESSION_SECRET=", make.of(kWord, 32));
  add("key", "\"apiKey\": \"", make.of(kHex, 32), "\",");
  add("key", "const apiKey = '", make.of(kWord, 32), "';");
  add("key", "api_key: ", make.of(kHex, 32));
  add("key", "client_secret=", make.url_safe(40), "&grant_type=x");
  add("key", "{\"name\": \"STRIPE_API_KEY\", \"value\": \"", make.of(kWord, 32), "\"}");
  add("key", "- name: APP_SECRET\n  value: ", make.of(kWord, 32));
  add("key", "X-Api-Key: ", make.of(kWord, 32));
  add("key", "os.environ[\"APP_API_KEY\"] = \"", make.of(kWord, 32), "\"");
  add("key", "setenv(\"APP_API_KEY\", \"", make.of(kWord, 32), "\")");
  add("opencode-auth", "{\"some\":{\"type\":\"api\",\"key\":\"", make.of(kHex, 32), "\"}}");
  add("opencode-auth",
      "{\"some\":{\"type\":\"oauth\",\"refresh\":\"",
      make.url_safe(60),
      "\",\"expires\":1}}");
  add("opencode-auth",
      "{\"some\": {\n  \"type\": \"oauth\",\n  \"access\": \"",
      make.url_safe(60),
      "\"\n}}");
  add("cookie", "Set-Cookie: session=", make.url_safe(40), "; Path=/; HttpOnly");
  add("cookie", "Cookie: theme=dark; connect.sid=", "s%3A" + make.of(kWord, 32), "; lang=en");
}

}  // namespace

std::string random_text(std::uint32_t seed, std::size_t size, const std::string& alphabet) {
  return Maker(seed).of(alphabet.empty() ? kWord : alphabet, size);
}

std::string planted_key(std::uint32_t seed) {
  Maker make(seed);
  std::string key = joined({"-----BEGIN RSA ", "PRIVATE KEY-----\n"});
  for (int line = 0; line < 10; ++line)
    key += make.of(kBase64, 64) + "\n";
  return key + make.of(kBase64, 22) + "==\n" + joined({"-----END RSA ", "PRIVATE KEY-----\n"});
}

std::vector<PlantedSecret> planted_secrets(std::uint32_t seed) {
  Maker make(seed);
  std::vector<PlantedSecret> all;
  add_tokens(make, all);
  add_in_context(make, all);
  for (const std::string label : {"RSA ", "EC ", "OPENSSH ", "ENCRYPTED ", ""}) {
    const std::string body =
        make.of(kBase64, 64) + "\n" + make.of(kBase64, 64) + "\n" + make.of(kBase64, 40);
    all.push_back({"private-key",
                   joined({"-----BEGIN ", label, "PRIVATE ", "KEY-----\n"}),
                   body,
                   joined({"\n-----END ", label, "PRIVATE ", "KEY-----"})});
  }
  all.push_back({"private-key",
                 joined({"-----BEGIN PGP ", "PRIVATE KEY BLOCK-----\nVersion: GnuPG v2\n\n"}),
                 make.of(kBase64, 64) + "\n" + make.of(kBase64, 64) + "\n=" + make.of(kBase64, 4),
                 joined({"\n-----END PGP ", "PRIVATE KEY BLOCK-----"})});
  return all;
}

}  // namespace respool::test
