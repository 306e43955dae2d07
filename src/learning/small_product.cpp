#include "learning/small_product.h"

#include <cstring>

#include "learning/small_product_loops.h"

namespace zkapex {

#if defined(__x86_64__)
SmallProduct small_product_avx2();  // small_product_avx2.cpp
#endif

namespace {

// 16-byte vectors, which every 64-bit machine has.
struct SmallLanes16 {
  using Vector __attribute__((vector_size(16))) = float;
  static constexpr size_t kCount = 4;
  static Vector load(const float* from) {
    Vector v;
    std::memcpy(&v, from, sizeof v);
    return v;
  }
  static void store(float* to, Vector v) { std::memcpy(to, &v, sizeof v); }
  static Vector splat(float v) { return Vector{} + v; }
  static Vector add_product(Vector c, Vector a, Vector b) { return c + a * b; }
};

}  // namespace

SmallProduct small_product([[maybe_unused]] InstructionSet set) {
#if defined(__x86_64__)
  if (set >= InstructionSet::kAvx2) return small_product_avx2();
#endif
  return small::product<SmallLanes16>;
}

}  // namespace zkapex
