// SHA-512 (FIPS 180-4) of eight messages of one block each, side by side. No function of this file may run, nor any
// inline function be shared with another file, on a machine without AVX-512: hence plain arrays, and no headers of
// ours.
#if defined(__x86_64__)

#include <immintrin.h>
#include <stdint.h>

namespace zkapex {

namespace {

constexpr uint64_t kStart[8] = {0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1,
                                0x510e527fade682d1, 0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179};
constexpr uint64_t kRounds[80] = {
    0x428a2f98d728ae22, 0x7137449123ef65cd, 0xb5c0fbcfec4d3b2f, 0xe9b5dba58189dbbc, 0x3956c25bf348b538,
    0x59f111f1b605d019, 0x923f82a4af194f9b, 0xab1c5ed5da6d8118, 0xd807aa98a3030242, 0x12835b0145706fbe,
    0x243185be4ee4b28c, 0x550c7dc3d5ffb4e2, 0x72be5d74f27b896f, 0x80deb1fe3b1696b1, 0x9bdc06a725c71235,
    0xc19bf174cf692694, 0xe49b69c19ef14ad2, 0xefbe4786384f25e3, 0x0fc19dc68b8cd5b5, 0x240ca1cc77ac9c65,
    0x2de92c6f592b0275, 0x4a7484aa6ea6e483, 0x5cb0a9dcbd41fbd4, 0x76f988da831153b5, 0x983e5152ee66dfab,
    0xa831c66d2db43210, 0xb00327c898fb213f, 0xbf597fc7beef0ee4, 0xc6e00bf33da88fc2, 0xd5a79147930aa725,
    0x06ca6351e003826f, 0x142929670a0e6e70, 0x27b70a8546d22ffc, 0x2e1b21385c26c926, 0x4d2c6dfc5ac42aed,
    0x53380d139d95b3df, 0x650a73548baf63de, 0x766a0abb3c77b2a8, 0x81c2c92e47edaee6, 0x92722c851482353b,
    0xa2bfe8a14cf10364, 0xa81a664bbc423001, 0xc24b8b70d0f89791, 0xc76c51a30654be30, 0xd192e819d6ef5218,
    0xd69906245565a910, 0xf40e35855771202a, 0x106aa07032bbd1b8, 0x19a4c116b8d2d0c8, 0x1e376c085141ab53,
    0x2748774cdf8eeb99, 0x34b0bcb5e19b48a8, 0x391c0cb3c5c95a63, 0x4ed8aa4ae3418acb, 0x5b9cca4f7763e373,
    0x682e6ff3d6b2b8a3, 0x748f82ee5defb2fc, 0x78a5636f43172f60, 0x84c87814a1f0ab72, 0x8cc702081a6439ec,
    0x90befffa23631e28, 0xa4506cebde82bde9, 0xbef9a3f7b2c67915, 0xc67178f2e372532b, 0xca273eceea26619c,
    0xd186b8c721c0c207, 0xeada7dd6cde0eb1e, 0xf57d4f7fee6ed178, 0x06f067aa72176fba, 0x0a637dc5a2c898a6,
    0x113f9804bef90dae, 0x1b710b35131c471b, 0x28db77f523047d84, 0x32caab7b40c72493, 0x3c9ebe0a15c9bebc,
    0x431d67c49c100d4c, 0x4cc5d4becb3e42b6, 0x597f299cfc657e2a, 0x5fcb6fab3ad6faec, 0x6c44198c4a475817};

#define ZKAPEX_LANES [[gnu::always_inline]] static inline

ZKAPEX_LANES __m512i all(uint64_t x) { return _mm512_set1_epi64(static_cast<long long>(x)); }
ZKAPEX_LANES __m512i sum(__m512i a, __m512i b) { return _mm512_add_epi64(a, b); }
ZKAPEX_LANES __m512i xor3(__m512i a, __m512i b, __m512i c) { return _mm512_ternarylogic_epi64(a, b, c, 0x96); }
ZKAPEX_LANES __m512i choose(__m512i e, __m512i f, __m512i g) { return _mm512_ternarylogic_epi64(e, f, g, 0xca); }
ZKAPEX_LANES __m512i majority(__m512i a, __m512i b, __m512i c) { return _mm512_ternarylogic_epi64(a, b, c, 0xe8); }

// Words are big-endian in messages and digests.
ZKAPEX_LANES __m512i bytes_reversed(__m512i x) {
  const __m512i order = _mm512_broadcast_i32x4(_mm_set_epi64x(0x08090a0b0c0d0e0f, 0x0001020304050607));
  return _mm512_shuffle_epi8(x, order);
}

}  // namespace

void sha512_blocks_avx512(const uint8_t (*blocks)[128], uint8_t (*digests)[64]) {
  const __m512i lanes = _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0);
  __m512i w[16], s[8];
  for (int t = 0; t < 16; ++t)
    w[t] = bytes_reversed(_mm512_i64gather_epi64(_mm512_slli_epi64(lanes, 4), blocks[0] + 8 * t, 8));
  for (int k = 0; k < 8; ++k) s[k] = all(kStart[k]);
  for (int first = 0; first < 80; first += 16) {
#pragma GCC unroll 16
    for (int t = 0; t < 16; ++t) {
      if (first > 0) {
        const __m512i early = w[(t + 1) % 16], late = w[(t + 14) % 16];
        const __m512i mixed =
            sum(xor3(_mm512_ror_epi64(early, 1), _mm512_ror_epi64(early, 8), _mm512_srli_epi64(early, 7)),
                xor3(_mm512_ror_epi64(late, 19), _mm512_ror_epi64(late, 61), _mm512_srli_epi64(late, 6)));
        w[t] = sum(sum(w[t], w[(t + 9) % 16]), mixed);
      }
      // a to h stand in s from place −t on, so that none moves: what was h becomes a.
      const auto at = [&](int k) __attribute__((always_inline))->__m512i& { return s[(k - t + 16) % 8]; };
      const __m512i e = at(4), a = at(0);
      const __m512i one =
          sum(sum(at(7), xor3(_mm512_ror_epi64(e, 14), _mm512_ror_epi64(e, 18), _mm512_ror_epi64(e, 41))),
              sum(choose(e, at(5), at(6)), sum(all(kRounds[first + t]), w[t])));
      const __m512i two = sum(xor3(_mm512_ror_epi64(a, 28), _mm512_ror_epi64(a, 34), _mm512_ror_epi64(a, 39)),
                              majority(a, at(1), at(2)));
      at(3) = sum(at(3), one);
      at(7) = sum(one, two);
    }
  }
  for (int k = 0; k < 8; ++k) {
    const __m512i word = bytes_reversed(sum(s[k], all(kStart[k])));
    _mm512_i64scatter_epi64(digests[0] + 8 * k, _mm512_slli_epi64(lanes, 3), word, 8);
  }
}

}  // namespace zkapex

#endif
