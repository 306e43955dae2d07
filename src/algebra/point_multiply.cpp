#include <array>

#include "algebra/point.h"
#include "algebra/scalar.h"
#include "base/secret.h"

namespace zkapex {

namespace {

// Signed digits in [−8, 8) with Σ digit_k 16^k = s < 2^253; the last digit is 0 or 1 and never needs a carry out.
std::array<int8_t, 64> signed_digits(const Scalar& s) {
  std::array<uint8_t, 32> bytes = s.to_bytes();
  std::array<int8_t, 64> digits;
  int carry = 0;
  for (size_t k = 0; k < 64; ++k) {
    const int digit = ((bytes[k / 2] >> (4 * (k % 2))) & 15) + carry;
    carry = (digit + 8) >> 4;
    digits[k] = static_cast<int8_t>(digit - 16 * carry);
  }
  wipe(std::span<uint8_t>(bytes));
  return digits;
}

CachedPoint select(bool choose, const CachedPoint& a, const CachedPoint& b) {
  return {select(choose, a.minus, b.minus), select(choose, a.plus, b.plus), select(choose, a.z2, b.z2),
          select(choose, a.td2, b.td2)};
}

// digit·p from the table (0, p, …, 8p): every entry is read, so that no address depends on the digit.
CachedPoint look_up(const std::array<CachedPoint, 9>& multiples, int8_t digit) {
  const int sign = digit >> 7;  // 0 or −1
  const int size = (digit ^ sign) - sign;
  CachedPoint out = multiples[0];
  for (int k = 1; k <= 8; ++k) out = select(k == size, multiples[static_cast<size_t>(k)], out);
  return select(sign != 0, negate(out), out);
}

}  // namespace

Point multiply(const Point& p, const Scalar& s) {
  std::array<CachedPoint, 9> multiples;
  Point multiple;
  for (CachedPoint& entry : multiples) {
    entry = to_cached(multiple.extended());
    multiple += p;
  }
  std::array<int8_t, 64> digits = signed_digits(s);
  ExtendedPoint sum = ExtendedPoint::identity();
  for (size_t k = digits.size(); k-- > 0;) {
    for (int doubling = 0; doubling < 4; ++doubling) sum = twice(sum);
    sum = add(sum, look_up(multiples, digits[k]));
  }
  wipe(std::span<int8_t>(digits));
  return Point(sum);
}

}  // namespace zkapex
