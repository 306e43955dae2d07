// The kernels of dense.h that are faster with AVX-512; called only where the dispatcher has found it.
#if defined(__AVX512VNNI__)

#include <immintrin.h>

#include "curvature/dense_kernels.h"

namespace zkapex {

namespace {

struct FloatLanes16 {
  using Real = float;
  using Vector = __m512;
  static constexpr size_t kCount = 16;
  static Vector load(const float* from) { return _mm512_loadu_ps(from); }
  static void store(float* to, Vector v) { _mm512_storeu_ps(to, v); }
  static Vector splat(float v) { return _mm512_set1_ps(v); }
  static Vector add_product(Vector c, Vector a, Vector b) { return _mm512_fmadd_ps(a, b, c); }
  static Vector subtract_product(Vector c, Vector a, Vector b) { return _mm512_fnmadd_ps(a, b, c); }
};

// Four rows of a panel, k to k + 3, as bytes: those of a column are one word. Rows from `end` on are zero.
__m512i pack_rows(const float* panel, size_t k, size_t end) {
  __m512i out = _mm512_setzero_si512();
  for (size_t r = 0; r < 4 && k + r < end; ++r) {
    const __m512i row = _mm512_cvtps_epi32(_mm512_loadu_ps(panel + (k + r) * kPanel));
    const __m512i byte = _mm512_and_si512(row, _mm512_set1_epi32(0xff));
    out = _mm512_or_si512(out, _mm512_sllv_epi32(byte, _mm512_set1_epi32(static_cast<int>(8 * r))));
  }
  return out;
}

struct ByteGram {
  const uint8_t* packed;  // of each panel `quads` times 64 bytes
  size_t quads;

  [[nodiscard]] const uint8_t* panel(size_t p) const { return packed + p * quads * 64; }

  // Sums over k of t[k][i] (t[k][j] + 128), for columns i to i + 3 of panel p and all of `Panels` panels from q on. The
  // instruction multiplies signed bytes by unsigned ones; `corrections` are -128 times the sums of columns i.
  template <size_t Panels>
  void tile(size_t p, size_t i, size_t q, size_t count, const int32_t* corrections, PanelView<float> out) const {
    __m512i acc[4][Panels];
    for (size_t r = 0; r < 4; ++r)
      for (size_t c = 0; c < Panels; ++c) acc[r][c] = _mm512_set1_epi32(corrections[r]);
    const uint8_t *left = panel(p) + 4 * i, *right = panel(q);
    for (size_t k = 0; k < count; ++k, left += 64, right += 64) {
      __m512i b[Panels];
      for (size_t c = 0; c < Panels; ++c)
        b[c] = _mm512_xor_si512(_mm512_load_si512(right + c * quads * 64), _mm512_set1_epi8(-128));
      for (size_t r = 0; r < 4; ++r) {
        int32_t word;
        __builtin_memcpy(&word, left + 4 * r, sizeof word);
        const __m512i a = _mm512_set1_epi32(word);
        for (size_t c = 0; c < Panels; ++c) acc[r][c] = _mm512_dpbusd_epi32(acc[r][c], b[c], a);
      }
    }
    for (size_t r = 0; r < 4; ++r) {
      for (size_t c = 0; c < Panels; ++c) {
        float* to = out.data + (q + c) * out.rows * kPanel + (p * kPanel + i + r) * kPanel;
        _mm512_storeu_ps(to, _mm512_cvtepi32_ps(acc[r][c]));
      }
    }
  }
};

void gram_of_bytes(PanelView<const float> t, const size_t* ends, PanelView<float> out, uint8_t* scratch) {
  const size_t quads = (t.rows + 3) / 4;
  const ByteGram bytes{scratch, quads};
  for (size_t p = 0; p < out.panels; ++p) {
    const float* panel = t.data + p * t.rows * kPanel;
    for (size_t k = 0; k < quads; ++k)
      _mm512_store_si512(scratch + (p * quads + k) * 64, pack_rows(panel, 4 * k, ends[p]));
  }
  for (size_t p = 0; p < out.panels; ++p) {
    const size_t count = (ends[p] + 3) / 4;
    __m512i sums = _mm512_setzero_si512();
    for (size_t k = 0; k < count; ++k)
      sums = _mm512_dpbusd_epi32(sums, _mm512_set1_epi8(1), _mm512_load_si512(bytes.panel(p) + 64 * k));
    int32_t corrections[kPanel];
    _mm512_storeu_si512(corrections, _mm512_mullo_epi32(sums, _mm512_set1_epi32(-128)));
    for (size_t i = 0; i < kPanel; i += 4) {
      size_t q = p;
      for (; q + 4 <= out.panels; q += 4) bytes.tile<4>(p, i, q, count, corrections + i, out);
      for (; q + 2 <= out.panels; q += 2) bytes.tile<2>(p, i, q, count, corrections + i, out);
      for (; q < out.panels; ++q) bytes.tile<1>(p, i, q, count, corrections + i, out);
    }
  }
}

}  // namespace

// What sums along lanes at the end, or is double, stays as it is.
DenseKernels<float> with_avx512(DenseKernels<float> kernels) {
  kernels.gram = dense::Dense<FloatLanes16>::gram;
  kernels.cholesky = dense::Dense<FloatLanes16>::cholesky;
  return kernels;
}
DenseKernels<double> with_avx512(DenseKernels<double> kernels) { return kernels; }
FactorKernels with_avx512(FactorKernels kernels) {
  kernels.gram = gram_of_bytes;
  return kernels;
}

}  // namespace zkapex

#endif
