// Arithmetic mod l = 2^252 + 27742317777372353535851937790883648493, the order of ristretto255, on bare 256-bit
// integers. Scalar wraps it; the kernels that are compared with each other in tests are here.
//
// l's words are (l0, l1, 0, 2^60): a Montgomery step q l needs two multiplications and two shifts.
#pragma once

#include "algebra/words.h"

namespace zkapex::montgomery {

inline constexpr Words4 kOrder = {0x5812631a5cf5d3ed, 0x14def9dea2f79cd6, 0, 0x1000000000000000};
inline constexpr uint64_t kNegativeInverse = 0xd2b51da312547e1b;  // -1/l mod 2^64
// R = 2^256: powers of R mod l
inline constexpr Words4 kR = {0xd6ec31748d98951d, 0xc6ef5bf4737dcf70, 0xfffffffffffffffe, 0x0fffffffffffffff};
inline constexpr Words4 kR2 = {0xa40611e3449c0f01, 0xd00e1ba768859347, 0xceec73d217f5be65, 0x0399411b7c309a3d};
inline constexpr Words4 kR3 = {0x2a9e49687b83a2db, 0x278324e6aef7f3ec, 0x8065dc6c04ec5b65, 0x0e530b773599cec7};

// a if mask is zero, b if it is all ones.
ZKAPEX_INLINE Words4 select(const Words4& a, const Words4& b, uint64_t mask) {
  return {a[0] ^ ((a[0] ^ b[0]) & mask), a[1] ^ ((a[1] ^ b[1]) & mask), a[2] ^ ((a[2] ^ b[2]) & mask),
          a[3] ^ ((a[3] ^ b[3]) & mask)};
}

template <class W>
ZKAPEX_INLINE bool is_canonical(Words4 a) {
  return W::subtract4(a, kOrder) != 0;
}

// a < 2 l; the result is canonical (< l).
template <class W>
ZKAPEX_INLINE Words4 reduce_once(const Words4& a) {
  Words4 d = a;
  const uint64_t below = W::subtract4(d, kOrder);
  const Words4 out = select(d, a, below);
  ZKAPEX_BOUND(is_canonical<PortableWords>(out));
  return out;
}

// Canonical in, canonical out. No carry leaves the fourth word: 2 l < 2^254.
template <class W>
ZKAPEX_INLINE Words4 add(const Words4& a, const Words4& b) {
  Words4 s = a;
  W::add4(s, b);
  return reduce_once<W>(s);
}

template <class W>
ZKAPEX_INLINE Words4 subtract(const Words4& a, const Words4& b) {
  Words4 d = a;
  const uint64_t below = W::subtract4(d, b);
  const Words4 correction = {kOrder[0] & below, kOrder[1] & below, 0, kOrder[3] & below};
  W::add4(d, correction);
  ZKAPEX_BOUND(is_canonical<PortableWords>(d));
  return d;
}

// (t4, t3, t2, t1, t0) += q l with the q that makes t0 zero; t0 is dropped by the caller.
template <class W>
ZKAPEX_INLINE void reduction_step(uint64_t t0, uint64_t& t1, uint64_t& t2, uint64_t& t3, uint64_t& t4) {
  const uint64_t q = t0 * kNegativeInverse;
  // q l0 + t0 = 2^64 carry: its low word is zero, with a carry of one unless t0 is zero.
  const uint64_t high = static_cast<uint64_t>((static_cast<uint128>(q) * kOrder[0]) >> 64);
  const WideWord p = W::multiply_add(q, kOrder[1], t1, W::add_nonzero(high, t0));
  t1 = p.low;
  W::add3(t2, t3, t4, p.high, q << 60, q >> 4);
}

// a b / R mod l, canonical; a < l, any b < 2^256.
// After every step the running sum is below a + l < 2 l, so it fits four words and one subtraction ends it.
template <class W>
ZKAPEX_INLINE Words4 multiply(const Words4& a, const Words4& b) {
  ZKAPEX_BOUND(is_canonical<PortableWords>(a));
  WideWord p = W::multiply_add(a[0], b[0], 0);
  uint64_t t0 = p.low;
  p = W::multiply_add(a[1], b[0], p.high);
  uint64_t t1 = p.low;
  p = W::multiply_add(a[2], b[0], p.high);
  uint64_t t2 = p.low;
  p = W::multiply_add(a[3], b[0], p.high);
  uint64_t t3 = p.low, t4 = p.high;
  reduction_step<W>(t0, t1, t2, t3, t4);
#pragma GCC unroll 3
  for (size_t k = 1; k < 4; ++k) {
    p = W::multiply_add(a[0], b[k], t1);
    t0 = p.low;
    p = W::multiply_add(a[1], b[k], t2, p.high);
    t1 = p.low;
    p = W::multiply_add(a[2], b[k], t3, p.high);
    t2 = p.low;
    p = W::multiply_add(a[3], b[k], t4, p.high);
    t3 = p.low;
    t4 = p.high;
    reduction_step<W>(t0, t1, t2, t3, t4);
  }
  return reduce_once<W>({t1, t2, t3, t4});
}

// The 512-bit product, not reduced.
template <class W>
ZKAPEX_INLINE std::array<uint64_t, 8> multiply_wide(const Words4& a, const Words4& b) {
  std::array<uint64_t, 8> t;
  uint64_t carry = 0;
#pragma GCC unroll 4
  for (size_t j = 0; j < 4; ++j) {
    const WideWord p = W::multiply_add(a[j], b[0], carry);
    t[j] = p.low;
    carry = p.high;
  }
  t[4] = carry;
#pragma GCC unroll 3
  for (size_t k = 1; k < 4; ++k) {
    WideWord p = W::multiply_add(a[0], b[k], t[k]);
    t[k] = p.low;
#pragma GCC unroll 3
    for (size_t j = 1; j < 4; ++j) {
      p = W::multiply_add(a[j], b[k], t[k + j], p.high);
      t[k + j] = p.low;
    }
    t[k + 4] = p.high;
  }
  return t;
}

// low + 2^256 high mod l, canonical; |high| < 2^59.
// With l = 2^252 + c, k = floor(value / 2^252) and x the rest: value = x + 2^252 k = x - k c mod l, |k c| < 2^189.
template <class W>
ZKAPEX_INLINE Words4 reduce_signed(const Words4& low, int64_t high) {
  ZKAPEX_BOUND(high < int64_t{1} << 59 && high > -(int64_t{1} << 59));
  const auto k = static_cast<int64_t>(static_cast<uint64_t>(high) << 4 | low[3] >> 60);
  const auto negative = static_cast<uint64_t>(k >> 63);  // all ones, or zero
  const uint64_t magnitude = (static_cast<uint64_t>(k) ^ negative) - negative;
  const WideWord p0 = W::multiply_add(magnitude, kOrder[0], 0);
  const WideWord p1 = W::multiply_add(magnitude, kOrder[1], p0.high);
  const Words4 rest = {low[0], low[1], low[2], low[3] & (kOrder[3] - 1)};
  const Words4 multiple = {p0.low, p1.low, p1.high, 0};
  return select(subtract<W>(rest, multiple), add<W>(rest, multiple), negative);
}

// a factor mod l, canonical; a < l, |factor| < 2^57.
template <class W>
ZKAPEX_INLINE Words4 multiply_small(const Words4& a, int64_t factor) {
  const auto negative = static_cast<uint64_t>(factor >> 63);  // all ones, or zero
  const uint64_t magnitude = (static_cast<uint64_t>(factor) ^ negative) - negative;
  ZKAPEX_BOUND(magnitude < uint64_t{1} << 57);
  const WideWord p0 = W::multiply_add(a[0], magnitude, 0);
  const WideWord p1 = W::multiply_add(a[1], magnitude, p0.high);
  const WideWord p2 = W::multiply_add(a[2], magnitude, p1.high);
  const WideWord p3 = W::multiply_add(a[3], magnitude, p2.high);
  const Words4 product = reduce_signed<W>({p0.low, p1.low, p2.low, p3.low}, static_cast<int64_t>(p3.high));
  return select(product, subtract<W>(Words4{}, product), negative);
}

}  // namespace zkapex::montgomery
