#include "algebra/scalar_sum.h"

namespace zkapex {

Scalar ScalarSum::reduce() const {
  // The words sum to s R for the sum s of the scalars: read them as an integer, and divide by R = 2^256.
  static const Scalar kInverseR = Scalar::power_of_two(256).inverse();
  std::array<uint8_t, 64> bytes{};
  for (size_t k = 0; k < 40; ++k) {
    const uint64_t word = k < 32 ? low_[k / 8] : high_;
    bytes[k] = static_cast<uint8_t>(word >> (8 * (k % 8)));
  }
  return Scalar::from_bytes_wide(bytes) * kInverseR;
}

}  // namespace zkapex
