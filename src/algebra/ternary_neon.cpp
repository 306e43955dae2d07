#if defined(__aarch64__)
#include <arm_neon.h>

#include "algebra/ternary_blocks.h"

namespace zkapex::ternary_kernels {

namespace {

// smlal multiplies eight bytes and adds the products to 16 bits: four times a step, at most 4 · 2 · 128 = 1024, so 32
// steps end at −2^15 or below 2^15.
struct NeonLanes {
  static constexpr size_t kSteps = 32, kRows = 2;
  using Group = int8x16x2_t;
  using Sums = int16x8_t;
  using WideSums = int32x4_t;

  static Group load(const void* from) { return vld1q_s8_x2(static_cast<const int8_t*>(from)); }
  static Group ones() { return {{vdupq_n_s8(1), vdupq_n_s8(1)}}; }
  static Sums add_products(Sums sums, const Group& matrix, const Group& vector) {
    sums = vmlal_s8(sums, vget_low_s8(matrix.val[0]), vget_low_s8(vector.val[0]));
    sums = vmlal_high_s8(sums, matrix.val[0], vector.val[0]);
    sums = vmlal_s8(sums, vget_low_s8(matrix.val[1]), vget_low_s8(vector.val[1]));
    return vmlal_high_s8(sums, matrix.val[1], vector.val[1]);
  }
  static WideSums widen(WideSums wide, Sums sums) { return vpadalq_s16(wide, sums); }
  static int32_t total(WideSums wide) { return vaddvq_s32(wide); }
};

}  // namespace

void multiply_neon(const Product& p, int32_t* out) { Blocks<NeonLanes>::multiply(p, out); }

}  // namespace zkapex::ternary_kernels
#endif
