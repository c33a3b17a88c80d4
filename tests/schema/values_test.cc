#include <catch2/catch.hpp>

#include "schema/digest.h"
#include "schema/money.h"
#include "schema/time.h"

namespace respool::test {

TEST_CASE("dollars become nano-dollars exactly", "[schema]") {
  CHECK(nanos_from_decimal("0.00267") == 2'670'000);
  CHECK(nanos_from_decimal("0.027617999999999997") == 27'618'000);
  CHECK(nanos_from_decimal("1e-9") == 1);
  CHECK(nanos_from_decimal("4e-10") == 0);
  CHECK(nanos_from_decimal("5e-10") == 1);
  CHECK(nanos_from_decimal("12") == 12 * kNanosPerDollar);
  CHECK(nanos_from_decimal("1.5E+2") == 150 * kNanosPerDollar);
  CHECK(nanos_from_decimal("-1.734723475976807e-18") == 0);
  for (const std::string_view bad :
       {"", "-1", "NaN", "true", "1e999", "1000000", "0x1", "1.2.3", "\"5\""}) {
    INFO(bad);
    CHECK_FALSE(nanos_from_decimal(bad).has_value());
  }
}

TEST_CASE("nano-dollars print as short decimals", "[schema]") {
  CHECK(nanos_to_decimal(49'690'000) == "0.04969");
  CHECK(nanos_to_decimal(0) == "0");
  CHECK(nanos_to_decimal(kNanosPerDollar) == "1");
  CHECK(nanos_to_decimal(-1) == "-0.000000001");
}

TEST_CASE("times print and parse as RFC 3339", "[schema]") {
  CHECK(format_time(1796070623780) == "2026-11-30T20:30:23.780Z");
  CHECK(parse_time("2026-11-30T20:30:23.780Z") == 1796070623780);
  CHECK(parse_time("2026-11-30T22:15:23.78+01:45") == 1796070623780);
  CHECK(parse_time("2026-11-30") == 1795996800000);
  CHECK(format_time(-1) == "1969-12-31T23:59:59.999Z");
  for (const std::string_view bad :
       {"", "2026", "2026-02-30", "2026-11-30T25:00Z", "2026-11-30T20:30:23", "x"}) {
    INFO(bad);
    CHECK_FALSE(parse_time(bad).has_value());
  }
}

TEST_CASE("digests are the standard's", "[schema]") {
  const auto sha = [](std::string_view text) {
    const Sha256 digest = sha256(text);
    return to_hex(as_bytes(digest));
  };
  CHECK(sha("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  // RFC 4231, case 2.
  const Sha256 mac = hmac_sha256("Jefe", "what do ya want for nothing?");
  CHECK(to_hex(as_bytes(mac)) ==
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  CHECK(random_bytes(16) != random_bytes(16));
}

}  // namespace respool::test
