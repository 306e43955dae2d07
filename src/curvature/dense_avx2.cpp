// The kernels of dense.h for AVX2 and FMA; called only where the dispatcher has found both.
#if defined(__AVX2__)

#include <immintrin.h>

#include "curvature/dense_kernels.h"

namespace zkapex {

namespace {

struct FloatLanes {
  using Real = float;
  using Vector = __m256;
  static constexpr size_t kCount = 8;
  static Vector load(const float* from) { return _mm256_loadu_ps(from); }
  static void store(float* to, Vector v) { _mm256_storeu_ps(to, v); }
  static Vector splat(float v) { return _mm256_set1_ps(v); }
  static Vector add_product(Vector c, Vector a, Vector b) { return _mm256_fmadd_ps(a, b, c); }
  static Vector subtract_product(Vector c, Vector a, Vector b) { return _mm256_fnmadd_ps(a, b, c); }
};

struct DoubleLanes {
  using Real = double;
  using Vector = __m256d;
  static constexpr size_t kCount = 4;
  static Vector load(const double* from) { return _mm256_loadu_pd(from); }
  static Vector load_floats(const float* from) { return _mm256_cvtps_pd(_mm_loadu_ps(from)); }
  static void store(double* to, Vector v) { _mm256_storeu_pd(to, v); }
  static Vector splat(double v) { return _mm256_set1_pd(v); }
  static Vector add_product(Vector c, Vector a, Vector b) { return _mm256_fmadd_pd(a, b, c); }
  static Vector subtract_product(Vector c, Vector a, Vector b) { return _mm256_fnmadd_pd(a, b, c); }
};

}  // namespace

const DenseKernels<float>& dense_kernels_avx2(float) {
  static constexpr DenseKernels<float> kernels = dense::Dense<FloatLanes>::kernels();
  return kernels;
}
const DenseKernels<double>& dense_kernels_avx2(double) {
  static constexpr DenseKernels<double> kernels = dense::Dense<DoubleLanes>::kernels();
  return kernels;
}
FactorKernels factor_kernels_avx2() { return dense::Factor<DoubleLanes>::kernels<FloatLanes>(); }
const TriangleKernels& triangle_kernels_avx2() {
  static constexpr TriangleKernels kernels = dense::Triangle<FloatLanes>::kernels();
  return kernels;
}

}  // namespace zkapex

#endif
