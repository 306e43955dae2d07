#include "algebra/field.h"

namespace zkapex {

namespace {

uint64_t load64(const uint8_t* bytes) {
  uint64_t x = 0;
  for (size_t k = 0; k < 8; ++k) x |= static_cast<uint64_t>(bytes[k]) << (8 * k);
  return x;
}

}  // namespace

Fe Fe::from_bytes(std::span<const uint8_t, 32> bytes) {
  const uint64_t w0 = load64(&bytes[0]), w1 = load64(&bytes[8]), w2 = load64(&bytes[16]), w3 = load64(&bytes[24]);
  return {{w0 & kLimbMask, (w0 >> 51 | w1 << 13) & kLimbMask, (w1 >> 38 | w2 << 26) & kLimbMask,
           (w2 >> 25 | w3 << 39) & kLimbMask, (w3 >> 12) & kLimbMask}};
}

std::optional<Fe> Fe::from_canonical_bytes(std::span<const uint8_t, 32> bytes) {
  const Fe x = from_bytes(bytes);
  const std::array<uint8_t, 32> again = x.to_bytes();
  uint8_t difference = 0;
  for (size_t k = 0; k < 32; ++k) difference = static_cast<uint8_t>(difference | (again[k] ^ bytes[k]));
  if (difference != 0) return std::nullopt;
  return x;
}

Fe Fe::canonical() const {
  check(7);
  Fe x = carried().carried();
  // Now the value is below 2p; it is at least p exactly if adding 19 carries out of bit 255.
  uint64_t q = (x.v[0] + 19) >> 51;
  for (size_t k = 1; k < 5; ++k) q = (x.v[k] + q) >> 51;
  x.v[0] += 19 * q;
  for (size_t k = 0; k < 4; ++k) {
    x.v[k + 1] += x.v[k] >> 51;
    x.v[k] &= kLimbMask;
  }
  x.v[4] &= kLimbMask;
  return x;
}

std::array<uint8_t, 32> Fe::to_bytes() const {
  const Fe x = canonical();
  const uint64_t words[4] = {x.v[0] | x.v[1] << 51, x.v[1] >> 13 | x.v[2] << 38, x.v[2] >> 26 | x.v[3] << 25,
                             x.v[3] >> 39 | x.v[4] << 12};
  std::array<uint8_t, 32> out;
  for (size_t k = 0; k < 32; ++k) out[k] = static_cast<uint8_t>(words[k / 8] >> (8 * (k % 8)));
  return out;
}

bool Fe::is_zero() const {
  const Fe x = canonical();
  return (x.v[0] | x.v[1] | x.v[2] | x.v[3] | x.v[4]) == 0;
}

bool Fe::is_negative() const { return (canonical().v[0] & 1) != 0; }

Fe Fe::abs() const {
  const Fe x = canonical();
  return select((x.v[0] & 1) != 0, -x, x).carried();
}

bool operator==(const Fe& a, const Fe& b) {
  const Fe x = a.canonical(), y = b.canonical();
  uint64_t difference = 0;
  for (size_t k = 0; k < 5; ++k) difference |= x.v[k] ^ y.v[k];
  return difference == 0;
}

Fe Fe::square_times(int times) const {
  Fe x = *this;
  for (int k = 0; k < times; ++k) x = x.square();
  return x;
}

namespace {

// x^(2^250 − 1) and x^11, the common trunk of the exponents below; 2^a − 1 grows by doubling runs of ones.
struct Ladder {
  Fe ones250, x11;
};
Ladder ladder(const Fe& x) {
  const Fe x2 = x.square();
  const Fe x9 = x2.square_times(2) * x;
  const Fe x11 = x9 * x2;
  const Fe ones5 = x11.square() * x9;
  const Fe ones10 = ones5.square_times(5) * ones5;
  const Fe ones20 = ones10.square_times(10) * ones10;
  const Fe ones40 = ones20.square_times(20) * ones20;
  const Fe ones50 = ones40.square_times(10) * ones10;
  const Fe ones100 = ones50.square_times(50) * ones50;
  const Fe ones200 = ones100.square_times(100) * ones100;
  return {ones200.square_times(50) * ones50, x11};
}

}  // namespace

Fe Fe::invert() const {  // p − 2 = 2^255 − 21 = 2^5 (2^250 − 1) + 11
  const Ladder l = ladder(*this);
  return l.ones250.square_times(5) * l.x11;
}

Fe Fe::power_p58() const {  // (p − 5)/8 = 2^252 − 3 = 2^2 (2^250 − 1) + 1
  return ladder(*this).ones250.square_times(2) * *this;
}

Fe sqrt_ratio_radicand(const Fe& u, const Fe& v) {
  const Fe v3 = v.square() * v;
  return u * v3.square() * v;  // u v^7
}

SquareRoot finish_sqrt_ratio_m1(const Fe& u, const Fe& v, const Fe& power) {
  const Fe root = u * (v.square() * v) * power;  // u v^3 (u v^7)^((p − 5)/8)
  const Fe check = v * root.square();
  const bool correct = (check - u).is_zero();
  const bool flipped = (check + u).is_zero();
  const bool flipped_i = (check + u * kSqrtM1).is_zero();
  // Every comparison is made and the root chosen by a mask: the time tells nothing of the case.
  const Fe turned = select(either(flipped, flipped_i), root * kSqrtM1, root);
  return {either(correct, flipped), turned.abs()};
}

SquareRoot sqrt_ratio_m1(const Fe& u, const Fe& v) {
  return finish_sqrt_ratio_m1(u, v, sqrt_ratio_radicand(u, v).power_p58());
}

}  // namespace zkapex
