// ristretto::Decoding eight encodings at a time. As group_kernels_avx512.cpp, for machines with AVX-512 IFMA only.
#include "algebra/group_kernels.h"
#include "algebra/power8_avx512.h"

namespace zkapex {

#if defined(__x86_64__)

namespace {

// kSqrtM1 and −1 of field.h, in [0, p).
constexpr uint64_t kSqrtM1Limbs[5] = {0x61b274a0ea0b0, 0x0d5a5fc8f189d, 0x7ef5e9cbd0c60, 0x78595a6804c9e,
                                      0x2b8324804fc1d};
constexpr uint64_t kMinusOneLimbs[5] = {kMask51 - 19, kMask51, kMask51, kMask51, kMask51};

// What was carried, in [0, p). It is below 2p, and at least p exactly if adding 19 carries out of bit 255.
ZKAPEX_LANES Fe8 canonical(const Fe8& a) {
  __m512i carry = all(19);
  for (const __m512i& limb : a.v) carry = _mm512_srli_epi64(_mm512_add_epi64(limb, carry), 51);
  carry = _mm512_mullo_epi64(carry, all(19));
  Fe8 out;
  for (int k = 0; k < 5; ++k) {
    const __m512i sum = _mm512_add_epi64(a.v[k], carry);
    out.v[k] = _mm512_and_si512(sum, all(kMask51));
    carry = _mm512_srli_epi64(sum, 51);
  }
  return out;
}

// Of canonical elements.
ZKAPEX_LANES __mmask8 is_odd(const Fe8& a) { return _mm512_test_epi64_mask(a.v[0], all(1)); }
ZKAPEX_LANES __mmask8 is_equal(const Fe8& a, const uint64_t* limbs) {
  __mmask8 equal = 0xff;
  for (int k = 0; k < 5; ++k) equal = _mm512_mask_cmpeq_epi64_mask(equal, a.v[k], all(limbs[k]));
  return equal;
}

ZKAPEX_LANES Fe8 select(__mmask8 choose, const Fe8& a, const Fe8& b) {
  Fe8 out;
  for (int k = 0; k < 5; ++k) out.v[k] = _mm512_mask_blend_epi64(choose, b.v[k], a.v[k]);
  return out;
}

struct Decoding8 {
  __mmask8 valid;  // canonical and not negative
  Fe8 s, u1, u2, v, w, w3;
};

ZKAPEX_KERNEL void begin_decoding(const uint64_t (*encodings)[4], Decoding8* out) {
  const __m512i lanes = _mm512_set_epi64(28, 24, 20, 16, 12, 8, 4, 0), mask = all(kMask51);
  __m512i word[4];
  for (int k = 0; k < 4; ++k) word[k] = _mm512_i64gather_epi64(lanes, encodings[0] + k, 8);
  const auto limb = [&](__m512i low, unsigned right, __m512i high, unsigned left) __attribute__((always_inline)) {
    return _mm512_and_si512(_mm512_or_si512(_mm512_srli_epi64(low, right), _mm512_slli_epi64(high, left)), mask);
  };
  const Fe8 s = {{_mm512_and_si512(word[0], mask), limb(word[0], 51, word[1], 13), limb(word[1], 38, word[2], 26),
                  limb(word[2], 25, word[3], 39), _mm512_and_si512(_mm512_srli_epi64(word[3], 12), mask)}};
  const Fe8 reduced = canonical(s);
  out->valid = static_cast<__mmask8>(~(_mm512_movepi64_mask(word[3]) | is_odd(s)));
  for (int k = 0; k < 5; ++k) out->valid = _mm512_mask_cmpeq_epi64_mask(out->valid, reduced.v[k], s.v[k]);

  const Wide8 one = wide(broadcast(kOne8)), zero = wide(broadcast(kZero8)), ss = square(s);
  out->s = s;
  out->u1 = carried(one - ss);
  out->u2 = carried(one + ss);
  const Wide8 u2_squared = square(out->u2);
  out->v = carried(zero - (broadcast(kD8) * carried(square(out->u1)) + u2_squared));
  out->w = multiply(out->v, carried(u2_squared));
  out->w3 = multiply(carried(square(out->w)), out->w);
}

// w^7, whose power makes √(1/w).
ZKAPEX_LANES Fe8 radicand(const Decoding8& d) { return multiply(carried(square(d.w3)), d.w); }

// Points go to out[0..7] as x and y; returns which lanes have one.
ZKAPEX_KERNEL __mmask8 finish_decoding(const Decoding8& d, const Fe8& power, uint64_t (*out)[10]) {
  Fe8 root = multiply(d.w3, power);
  const Fe8 check = canonical(multiply(d.w, carried(square(root))));
  const __mmask8 flipped = is_equal(check, kMinusOneLimbs);
  const __mmask8 was_square = flipped | is_equal(check, kOne8);
  root = select(flipped, multiply(root, broadcast(kSqrtM1Limbs)), root);
  // Either root will do: x is made positive, and y has its square.
  const Fe8 den_x = multiply(root, d.u2), den_y = multiply(multiply(root, den_x), d.v);
  Fe8 x = multiply(carried(wide(d.s) + wide(d.s)), den_x);
  x = select(is_odd(canonical(x)), carried(wide(broadcast(kZero8)) - wide(x)), x);
  const Fe8 y = multiply(d.u1, den_y), t = multiply(x, y);
  store(x, out[0], 10);
  store(y, out[0] + 5, 10);
  const __mmask8 refused = is_odd(canonical(t)) | is_equal(canonical(y), kZero8);
  return static_cast<__mmask8>(d.valid & was_square & ~refused);
}

}  // namespace

void decode_avx512(const uint8_t* encodings, size_t count, uint64_t* affine_points, uint8_t* valid) {
  for (size_t first = 0; first < count; first += 16) {
    uint64_t in[16][4] = {}, out[16][10];
    const size_t used = count - first < 16 ? count - first : 16;
    __builtin_memcpy(in, encodings + 32 * first, used * sizeof in[0]);
    Decoding8 a, b;
    begin_decoding(in, &a);
    begin_decoding(in + 8, &b);
    Fe16 power = {radicand(a), radicand(b)};
    power_p58(&power);
    const unsigned low = finish_decoding(a, power.a, out), high = finish_decoding(b, power.b, out + 8);
    __builtin_memcpy(affine_points + 10 * first, out, used * sizeof out[0]);
    for (size_t k = 0; k < used; ++k) valid[first + k] = static_cast<uint8_t>((low | high << 8) >> k & 1);
  }
}

#endif

}  // namespace zkapex
