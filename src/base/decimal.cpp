#include "base/decimal.h"

#include <charconv>
#include <cmath>

namespace zkapex {

Result<Decimal> Decimal::parse(std::string_view text) {
  const auto bad = [&] { return error("'{}' is not a positive decimal number such as 0.04 or 4e-2", text); };
  std::string_view rest = text;
  uint64_t digits = 0;
  int64_t places = 0;
  bool any = false, point = false;
  for (; !rest.empty() && (rest[0] == '.' || (rest[0] >= '0' && rest[0] <= '9')); rest.remove_prefix(1)) {
    if (rest[0] == '.') {
      if (point) return bad();
      point = true;
      continue;
    }
    any = true;
    digits = 10 * digits + static_cast<uint64_t>(rest[0] - '0');
    places += point ? 1 : 0;
    if (digits > kMaxDigits || places > 1000) return error("'{}' has too many digits", text);
  }
  if (!any) return bad();
  if (!rest.empty()) {
    if (rest[0] != 'e' && rest[0] != 'E') return bad();
    rest.remove_prefix(1);
    if (rest.starts_with('+')) rest.remove_prefix(1);
    int exponent = 0;
    const auto [end, code] = std::from_chars(rest.data(), rest.data() + rest.size(), exponent);
    if (code != std::errc() || end != rest.data() + rest.size() || exponent < -1000 || exponent > 1000) return bad();
    places -= exponent;
  }
  if (digits == 0) return error("'{}' is not above zero", text);
  while (digits % 10 == 0 && places > 0) {
    digits /= 10;
    --places;
  }
  for (; places < 0; ++places) {
    digits *= 10;
    if (digits > kMaxDigits) return error("'{}' is too large", text);
  }
  if (places > kMaxPlaces) return error("'{}' has more than {} places after the point", text, kMaxPlaces);
  return from_parts(digits, static_cast<uint32_t>(places));
}

Result<Decimal> Decimal::from_parts(uint64_t digits, uint32_t places) {
  if (digits == 0 || digits > kMaxDigits || places > kMaxPlaces || (places > 0 && digits % 10 == 0))
    return error("{} with {} places is not a decimal number in its one form", digits, places);
  return Decimal{digits, places};
}

std::string Decimal::text() const {
  return places == 0 ? std::to_string(digits) : fmt::format("{}e-{}", digits, places);
}

double Decimal::approximate() const { return static_cast<double>(digits) / std::pow(10.0, places); }

}  // namespace zkapex
