// Scalars: integers mod l = 2^252 + 27742317777372353535851937790883648493, the order of ristretto255.
//
// A Scalar holds a R mod l, R = 2^256 (Montgomery form), always canonical: 0 <= words < l. So equality is equality of
// words, and every operation takes and gives canonical values. Sums that are reduced later live in ScalarAccumulator.
// Nothing here branches on, or indexes memory by, the value of a scalar; what does ends in _var.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "algebra/montgomery.h"
#include "base/bytes.h"
#include "base/result.h"

namespace zkapex {

class Scalar {
 public:
  static constexpr size_t kBytes = 32;

  constexpr Scalar() : words_{} {}
  static constexpr Scalar zero() { return {}; }
  static constexpr Scalar one() { return Scalar(montgomery::kR); }
  static Scalar from_u64(uint64_t value);
  static Scalar from_i64(int64_t value);
  static Scalar from_i128(int128 value);
  // The integer 2^k mod l; k is public.
  static Scalar power_of_two(unsigned k);
  // 32 bytes, little-endian, canonical (below l); anything else is an error.
  static Result<Scalar> from_bytes(ByteView bytes);
  // A 512-bit little-endian integer mod l.
  static Scalar from_bytes_wide(std::span<const uint8_t, 64> bytes);
  // Uniform: 512 random bits mod l, a bias below 2^-259.
  static Result<Scalar> random();

  [[nodiscard]] std::array<uint8_t, kBytes> to_bytes() const;
  // The integer in [0, l), least significant word first.
  [[nodiscard]] std::array<uint64_t, 4> canonical_limbs() const;

  [[nodiscard]] bool is_zero() const { return (words_[0] | words_[1] | words_[2] | words_[3]) == 0; }
  friend bool operator==(const Scalar& a, const Scalar& b) {
    return ((a.words_[0] ^ b.words_[0]) | (a.words_[1] ^ b.words_[1]) | (a.words_[2] ^ b.words_[2]) |
            (a.words_[3] ^ b.words_[3])) == 0;
  }

  friend Scalar operator+(const Scalar& a, const Scalar& b) {
    return Scalar(montgomery::add<NativeWords>(a.words_, b.words_));
  }
  friend Scalar operator-(const Scalar& a, const Scalar& b) {
    return Scalar(montgomery::subtract<NativeWords>(a.words_, b.words_));
  }
  friend Scalar operator*(const Scalar& a, const Scalar& b);
  Scalar operator-() const { return Scalar() - *this; }
  Scalar& operator+=(const Scalar& b) { return *this = *this + b; }
  Scalar& operator-=(const Scalar& b) { return *this = *this - b; }
  Scalar& operator*=(const Scalar& b) { return *this = *this * b; }

  // a b inlined at the call, for the innermost loops; operator* is a call.
  static ZKAPEX_INLINE Scalar multiply_inline(const Scalar& a, const Scalar& b) {
    return Scalar(montgomery::multiply<NativeWords>(a.words_, b.words_));
  }

  [[nodiscard]] Scalar square() const;
  // The inverse; of zero, zero.
  [[nodiscard]] Scalar inverse() const;
  // The exponent is public: time depends on it, and on nothing else.
  [[nodiscard]] Scalar pow(uint64_t exponent) const;

  // Montgomery form, for kernels that are linear in scalars with integer coefficients: those need no factor R.
  [[nodiscard]] constexpr const Words4& montgomery_words() const { return words_; }
  // words < l.
  static Scalar from_montgomery_words(const Words4& words) {
    ZKAPEX_BOUND(montgomery::is_canonical<PortableWords>(words));
    return Scalar(words);
  }
  // The scalar whose words are factor · words mod l; words < l, |factor| < 2^57.
  static ZKAPEX_INLINE Scalar multiple_of_words(const Words4& words, int64_t factor) {
    return Scalar(montgomery::multiply_small<NativeWords>(words, factor));
  }

 private:
  explicit constexpr Scalar(const Words4& words) : words_(words) {}

  Words4 words_;  // a R mod l, below l
};

// Sum of products, reduced once at the end. The sum is a 576-bit integer; a product adds less than l^2 < 2^505 and a
// scalar less than l R < 2^509, so 2^67 terms fit: no loop reaches that. (A term raises the top word by at most one.)
class ScalarAccumulator {
 public:
  using Words = std::array<uint64_t, 9>;

  ScalarAccumulator() = default;
  // A sum that was added up elsewhere; products and sums as above.
  explicit ScalarAccumulator(const Words& sum) : sum_(sum) {}
  [[nodiscard]] const Words& words() const { return sum_; }

  ZKAPEX_INLINE void add_product(const Scalar& a, const Scalar& b) {
    const auto product = montgomery::multiply_wide<NativeWords>(a.montgomery_words(), b.montgomery_words());
    NativeWords::accumulate(sum_.data(), product.data());
    ZKAPEX_BOUND(sum_[8] != ~uint64_t{0});
  }
  // The sum is divided by R at the end, so a scalar joins as a R.
  ZKAPEX_INLINE void add(const Scalar& a) {
    const Words4& w = a.montgomery_words();
    const uint64_t term[8] = {0, 0, 0, 0, w[0], w[1], w[2], w[3]};
    NativeWords::accumulate(sum_.data(), term);
    ZKAPEX_BOUND(sum_[8] != ~uint64_t{0});
  }
  ScalarAccumulator& operator+=(const ScalarAccumulator& other);
  [[nodiscard]] Scalar reduce() const;

 private:
  Words sum_{};
};

// Sum of a[i] b[i]; the two are of the same length.
[[nodiscard]] Scalar inner_product(std::span<const Scalar> a, std::span<const Scalar> b);

// Each element replaced by its inverse, zeros left alone: one inversion and three multiplications an element.
void batch_invert(std::span<Scalar> scalars);

}  // namespace zkapex
