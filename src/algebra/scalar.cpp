#include "algebra/scalar.h"

#include <vector>

#include "base/random.h"
#include "base/secret.h"

namespace zkapex {

using montgomery::kR;
using montgomery::kR2;
using montgomery::kR3;

namespace {

Words4 multiply(const Words4& a, const Words4& b) { return montgomery::multiply<NativeWords>(a, b); }

uint64_t load_word(const uint8_t* bytes) {
  uint64_t word = 0;
  for (unsigned k = 0; k < 8; ++k) word |= static_cast<uint64_t>(bytes[k]) << (8 * k);
  return word;
}

Words4 load_words(const uint8_t* bytes) {
  return {load_word(bytes), load_word(bytes + 8), load_word(bytes + 16), load_word(bytes + 24)};
}

// All ones if a is zero, else zero.
uint64_t zero_mask(const Scalar& a) {
  const Words4& w = a.montgomery_words();
  const uint64_t any = w[0] | w[1] | w[2] | w[3];
  return ((any | (0 - any)) >> 63) - 1;
}

Scalar select(const Scalar& a, const Scalar& b, uint64_t mask) {
  return Scalar::from_montgomery_words(montgomery::select(a.montgomery_words(), b.montgomery_words(), mask));
}

}  // namespace

Scalar operator*(const Scalar& a, const Scalar& b) { return Scalar::multiply_inline(a, b); }

Scalar Scalar::square() const { return multiply_inline(*this, *this); }

Scalar Scalar::from_u64(uint64_t value) { return Scalar(multiply(kR2, {value, 0, 0, 0})); }

Scalar Scalar::from_i64(int64_t value) { return from_i128(value); }

Scalar Scalar::from_i128(int128 value) {
  const auto sign = static_cast<uint128>(value >> 127);  // all ones if negative
  const uint128 magnitude = (static_cast<uint128>(value) ^ sign) - sign;
  const Scalar positive(
      multiply(kR2, {static_cast<uint64_t>(magnitude), static_cast<uint64_t>(magnitude >> 64), 0, 0}));
  return select(positive, -positive, static_cast<uint64_t>(sign));
}

Scalar Scalar::power_of_two(unsigned k) {
  Words4 bit{};
  bit[k % 256 / 64] = uint64_t{1} << (k % 64);
  Scalar out(multiply(kR2, bit));
  const Scalar two_to_256(kR2);
  for (unsigned left = k / 256; left > 0; --left) out *= two_to_256;
  return out;
}

Result<Scalar> Scalar::from_bytes(ByteView bytes) {
  if (bytes.size() != kBytes) return error("a scalar has {} bytes, not {}", kBytes, bytes.size());
  const Words4 words = load_words(bytes.data());
  if (!montgomery::is_canonical<NativeWords>(words)) return error("a scalar is not below the group order");
  return Scalar(multiply(kR2, words));
}

Scalar Scalar::from_bytes_wide(std::span<const uint8_t, 64> bytes) {
  return Scalar(multiply(kR2, load_words(bytes.data()))) + Scalar(multiply(kR3, load_words(bytes.data() + 32)));
}

Result<Scalar> Scalar::random() {
  Wiped<std::array<uint8_t, 64>> bytes;
  ZKAPEX_CHECK(random_bytes(*bytes));
  return from_bytes_wide(*bytes);
}

std::array<uint64_t, 4> Scalar::canonical_limbs() const { return multiply({1, 0, 0, 0}, words_); }

std::array<uint8_t, Scalar::kBytes> Scalar::to_bytes() const {
  const Words4 words = canonical_limbs();
  std::array<uint8_t, kBytes> out;
  for (size_t k = 0; k < kBytes; ++k) out[k] = static_cast<uint8_t>(words[k / 8] >> (8 * (k % 8)));
  return out;
}

Scalar Scalar::inverse() const {
  // a^(l - 2), four bits of the (public) exponent at a time
  std::array<Scalar, 16> powers;
  powers[0] = one();
  for (size_t k = 1; k < 16; ++k) powers[k] = powers[k - 1] * *this;
  Words4 exponent = montgomery::kOrder;
  exponent[0] -= 2;
  Scalar out = one();
  for (size_t digit = 64; digit-- > 0;) {
    for (int k = 0; k < 4; ++k) out = multiply_inline(out, out);
    out *= powers[exponent[digit / 16] >> (4 * (digit % 16)) & 15];
  }
  return out;
}

Scalar Scalar::pow(uint64_t exponent) const {
  Scalar out = one();
  for (int bit = 64 - __builtin_clzll(exponent | 1); bit-- > 0;) {
    out = out.square();
    if (exponent >> bit & 1) out *= *this;
  }
  return out;
}

ScalarAccumulator& ScalarAccumulator::operator+=(const ScalarAccumulator& other) {
  NativeWords::accumulate(sum_.data(), other.sum_.data());
  sum_[8] += other.sum_[8];
  ZKAPEX_BOUND(sum_[8] >= other.sum_[8]);
  return *this;
}

Scalar ScalarAccumulator::reduce() const {
  // (low + 2^256 middle + 2^512 high) / R mod l
  const Words4 low = multiply({1, 0, 0, 0}, {sum_[0], sum_[1], sum_[2], sum_[3]});
  const Words4 middle = multiply(kR, {sum_[4], sum_[5], sum_[6], sum_[7]});
  const Words4 high = multiply(kR2, {sum_[8], 0, 0, 0});
  return Scalar::from_montgomery_words(low) + Scalar::from_montgomery_words(middle) +
         Scalar::from_montgomery_words(high);
}

Scalar inner_product(std::span<const Scalar> a, std::span<const Scalar> b) {
  ZKAPEX_BOUND(a.size() == b.size());
  ScalarAccumulator sum;
  for (size_t k = 0; k < a.size(); ++k) sum.add_product(a[k], b[k]);
  return sum.reduce();
}

void batch_invert(std::span<Scalar> scalars) {
  // before[k] = product of the elements before k, a zero counted as one
  std::vector<Scalar> before(scalars.size());
  Scalar product = Scalar::one();
  for (size_t k = 0; k < scalars.size(); ++k) {
    before[k] = product;
    product = Scalar::multiply_inline(product, select(scalars[k], Scalar::one(), zero_mask(scalars[k])));
  }
  Scalar inverse = product.inverse();
  for (size_t k = scalars.size(); k-- > 0;) {
    const uint64_t zero = zero_mask(scalars[k]);
    const Scalar element = select(scalars[k], Scalar::one(), zero);
    scalars[k] = select(Scalar::multiply_inline(inverse, before[k]), Scalar::zero(), zero);
    inverse = Scalar::multiply_inline(inverse, element);
  }
}

}  // namespace zkapex
