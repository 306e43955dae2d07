// The product of small_product.h for AVX2 and FMA; called only where the dispatcher has found both.
#if defined(__AVX2__)

#include <immintrin.h>

#include "learning/small_product_loops.h"

namespace zkapex {

namespace {

struct SmallLanesAvx2 {
  using Vector = __m256;
  static constexpr size_t kCount = 8;
  static Vector load(const float* from) { return _mm256_loadu_ps(from); }
  static void store(float* to, Vector v) { _mm256_storeu_ps(to, v); }
  static Vector splat(float v) { return _mm256_set1_ps(v); }
  static Vector add_product(Vector c, Vector a, Vector b) { return _mm256_fmadd_ps(a, b, c); }
};

}  // namespace

SmallProduct small_product_avx2() { return small::product<SmallLanesAvx2>; }

}  // namespace zkapex

#endif
