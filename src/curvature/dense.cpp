#include "curvature/dense.h"

#include <cstring>

#include "curvature/dense_kernels.h"

namespace zkapex {

#if defined(__x86_64__)
// dense_avx2.cpp, dense_avx512.cpp
const DenseKernels<float>& dense_kernels_avx2(float);
const DenseKernels<double>& dense_kernels_avx2(double);
FactorKernels factor_kernels_avx2();
const TriangleKernels& triangle_kernels_avx2();
const TriangleKernels& triangle_kernels_avx512();
DenseKernels<float> with_avx512(DenseKernels<float> kernels);
DenseKernels<double> with_avx512(DenseKernels<double> kernels);
FactorKernels factor_kernels_avx512();
#endif

namespace {

// 16-byte vectors, which every 64-bit machine has.
template <class T>
struct Lanes16 {
  using Real = T;
  using Vector __attribute__((vector_size(16))) = T;
  static constexpr size_t kCount = 16 / sizeof(T);

  static Vector load(const T* from) {
    Vector v;
    std::memcpy(&v, from, sizeof v);
    return v;
  }
  static Vector load_floats(const float* from) { return Vector{from[0], from[1]}; }
  static void store(T* to, Vector v) { std::memcpy(to, &v, sizeof v); }
  static Vector splat(T v) { return Vector{} + v; }
  static Vector add_product(Vector c, Vector a, Vector b) { return c + a * b; }
  static Vector subtract_product(Vector c, Vector a, Vector b) { return c - a * b; }
};

}  // namespace

template <class Real>
const DenseKernels<Real>& DenseKernels<Real>::get([[maybe_unused]] InstructionSet set) {
#if defined(__x86_64__)
  if (set >= InstructionSet::kAvx512) {
    static const DenseKernels wide = with_avx512(dense_kernels_avx2(Real{}));
    return wide;
  }
  if (set >= InstructionSet::kAvx2) return dense_kernels_avx2(Real{});
#endif
  static constexpr DenseKernels kernels = dense::Dense<Lanes16<Real>>::kernels();
  return kernels;
}
template struct DenseKernels<float>;
template struct DenseKernels<double>;

const FactorKernels& FactorKernels::get([[maybe_unused]] InstructionSet set) {
  const auto with_arrange = [](FactorKernels kernels) {
    kernels.arrange = arrange_factor<int8_t>;
    return kernels;
  };
#if defined(__x86_64__)
  static const FactorKernels avx2 = with_arrange(factor_kernels_avx2()), avx512 = factor_kernels_avx512();
  if (set >= InstructionSet::kAvx512) return avx512;
  if (set >= InstructionSet::kAvx2) return avx2;
#endif
  static const FactorKernels portable = with_arrange(dense::Factor<Lanes16<double>>::kernels<Lanes16<float>>());
  return portable;
}

const TriangleKernels& TriangleKernels::get([[maybe_unused]] InstructionSet set) {
#if defined(__x86_64__)
  if (set >= InstructionSet::kAvx512) return triangle_kernels_avx512();
  if (set >= InstructionSet::kAvx2) return triangle_kernels_avx2();
#endif
  static constexpr TriangleKernels kernels = dense::Triangle<Lanes16<float>>::kernels();
  return kernels;
}

}  // namespace zkapex
