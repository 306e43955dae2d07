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

struct DoubleLanes8 {
  using Real = double;
  using Vector = __m512d;
  static constexpr size_t kCount = 8;
  static Vector load_floats(const float* from) { return _mm512_cvtps_pd(_mm256_loadu_ps(from)); }
  static void store(double* to, Vector v) { _mm512_storeu_pd(to, v); }
  static Vector splat(double v) { return _mm512_set1_pd(v); }
  static Vector add_product(Vector c, Vector a, Vector b) { return _mm512_fmadd_pd(a, b, c); }
};

// Sixteen bytes as floats.
__m512 floats(__m128i bytes) { return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(bytes)); }

// 16 × 16 bytes of which every vector has rows 4 L + j, L < 4, in its parts: to column after column.
void transpose(const __m512i (&in)[4], __m128i (&out)[kPanel]) {
  const __m512i low01 = _mm512_unpacklo_epi8(in[0], in[1]), high01 = _mm512_unpackhi_epi8(in[0], in[1]);
  const __m512i low23 = _mm512_unpacklo_epi8(in[2], in[3]), high23 = _mm512_unpackhi_epi8(in[2], in[3]);
  // In part L words of four rows, of columns 4 j to 4 j + 3.
  const __m512i quads[4] = {_mm512_unpacklo_epi16(low01, low23), _mm512_unpackhi_epi16(low01, low23),
                            _mm512_unpacklo_epi16(high01, high23), _mm512_unpackhi_epi16(high01, high23)};
  const __m512i order = _mm512_set_epi32(15, 11, 7, 3, 14, 10, 6, 2, 13, 9, 5, 1, 12, 8, 4, 0);
  for (size_t j = 0; j < 4; ++j) {
    const __m512i columns = _mm512_permutexvar_epi32(order, quads[j]);
    out[4 * j] = _mm512_castsi512_si128(columns);
    out[4 * j + 1] = _mm512_extracti32x4_epi32(columns, 1);
    out[4 * j + 2] = _mm512_extracti32x4_epi32(columns, 2);
    out[4 * j + 3] = _mm512_extracti32x4_epi32(columns, 3);
  }
}

void arrange(const int8_t* factor, size_t rows, PanelView<float> upper, PanelView<float> lower) {
  const size_t padded = upper.panels * kPanel;
  for (size_t p = 0; p < upper.panels; ++p) {
    for (size_t q = 0; q <= p; ++q) {  // rows of panel p of L, columns of panel q
      __m128i row[kPanel], column[kPanel];
      for (size_t r = 0; r < kPanel; ++r) {
        const size_t i = p * kPanel + r;
        const __mmask16 inside = static_cast<__mmask16>(i >= rows ? 0 : p == q ? (2U << r) - 1 : 0xffffU);
        row[r] = _mm_maskz_loadu_epi8(inside, factor + (i < rows ? i * (i + 1) / 2 + q * kPanel : 0));
      }
      __m512i parts[4];
      for (size_t j = 0; j < 4; ++j) {
        parts[j] = _mm512_inserti32x4(_mm512_castsi128_si512(row[j]), row[j + 4], 1);
        parts[j] = _mm512_inserti32x4(_mm512_inserti32x4(parts[j], row[j + 8], 2), row[j + 12], 3);
      }
      transpose(parts, column);
      float *to_lower = lower.data + (q * padded + p * kPanel) * kPanel,
            *to_upper = upper.data + (p * padded + q * kPanel) * kPanel;
      for (size_t r = 0; r < kPanel; ++r) {
        _mm512_storeu_ps(to_lower + r * kPanel, floats(row[r]));
        _mm512_storeu_ps(to_upper + r * kPanel, floats(column[r]));
      }
    }
  }
  for (size_t i = rows; i < padded; ++i)
    for (const PanelView<float>& m : {upper, lower}) m.data[(i / kPanel * padded + i) * kPanel + i % kPanel] = 1;
}

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

// What sums along lanes at the end, or rounds in double, stays as it is.
DenseKernels<float> with_avx512(DenseKernels<float> kernels) {
  kernels.gram = dense::Dense<FloatLanes16>::gram;
  kernels.cholesky = dense::Dense<FloatLanes16>::cholesky;
  return kernels;
}
DenseKernels<double> with_avx512(DenseKernels<double> kernels) { return kernels; }
FactorKernels factor_kernels_avx512() {
  return {&arrange, &dense::Factor<DoubleLanes8>::multiply_transposed, &dense::Factor<DoubleLanes8>::multiply,
          &gram_of_bytes};
}
const TriangleKernels& triangle_kernels_avx512() {
  static constexpr TriangleKernels kernels = dense::Triangle<FloatLanes16>::kernels();
  return kernels;
}

}  // namespace zkapex

#endif
