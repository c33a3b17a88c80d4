#include "schema/money.h"

#include <charconv>

#include <fmt/format.h>

namespace respool {
namespace {

// The digits of a decimal token and where its point stands.
struct Decimal {
  std::string digits;
  long point = 0;  // number of digits before the decimal point
};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::optional<Decimal> parse_decimal(std::string_view token) {
  Decimal decimal;
  std::size_t at = 0;
  bool seen_point = false;
  for (; at < token.size() && (is_digit(token[at]) || token[at] == '.'); ++at) {
    if (token[at] == '.') {
      if (seen_point) return std::nullopt;
      seen_point = true;
    } else {
      decimal.digits.push_back(token[at]);
      if (!seen_point) ++decimal.point;
    }
  }
  if (decimal.digits.empty() || decimal.digits.size() > 400) return std::nullopt;
  if (at < token.size() && (token[at] == 'e' || token[at] == 'E')) {
    ++at;
    if (at < token.size() && token[at] == '+') ++at;
    long exponent = 0;
    const auto [end, error] =
        std::from_chars(token.data() + at, token.data() + token.size(), exponent);
    if (error != std::errc{} || exponent > 400 || exponent < -400) return std::nullopt;
    at = static_cast<std::size_t>(end - token.data());
    decimal.point += exponent;
  }
  if (at != token.size()) return std::nullopt;
  return decimal;
}

}  // namespace

std::optional<std::int64_t> nanos_from_decimal(std::string_view token, std::int64_t limit_dollars) {
  // Sums of floats can end a hair below zero: what rounds to nothing is nothing.
  const bool negative = token.starts_with('-');
  const auto decimal = parse_decimal(token.substr(negative ? 1 : 0));
  if (!decimal) return std::nullopt;
  constexpr long kNanoDigits = 9;
  const long kept = decimal->point + kNanoDigits;  // digits that make whole nano-dollars
  std::int64_t nanos = 0;
  const std::int64_t limit = limit_dollars * kNanosPerDollar;
  for (long i = 0; i < kept; ++i) {
    const int digit = i < static_cast<long>(decimal->digits.size())
                          ? decimal->digits[static_cast<std::size_t>(i)] - '0'
                          : 0;
    nanos = nanos * 10 + digit;
    if (nanos >= limit) return std::nullopt;
  }
  const bool round_up = kept >= 0 && kept < static_cast<long>(decimal->digits.size()) &&
                        decimal->digits[static_cast<std::size_t>(kept)] >= '5';
  nanos += round_up ? 1 : 0;
  if (negative && nanos != 0) return std::nullopt;
  return nanos;
}

std::string nanos_to_decimal(std::int64_t nanos) {
  const bool negative = nanos < 0;
  const auto magnitude =
      negative ? 0 - static_cast<std::uint64_t>(nanos) : static_cast<std::uint64_t>(nanos);
  std::string text =
      fmt::format("{}.{:09}", magnitude / kNanosPerDollar, magnitude % kNanosPerDollar);
  while (text.back() == '0')
    text.pop_back();
  if (text.back() == '.') text.pop_back();
  return negative ? "-" + text : text;
}

}  // namespace respool
