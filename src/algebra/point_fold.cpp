#include "algebra/msm.h"

namespace zkapex {

namespace {

constexpr size_t kLanes = 8;
constexpr size_t kDigits = 254;  // of a scalar below 2^253

// Digits −1, 0, 1 of the non-adjacent form, a third of them not zero; digit k goes to out[k · stride].
void non_adjacent_form(const Scalar& s, int8_t* out, size_t stride) {
  std::array<uint64_t, 4> rest = s.canonical_limbs();
  for (size_t k = 0; k < kDigits; ++k) {
    const uint64_t low = rest[0] & 3;
    const int digit = low == 1 ? 1 : low == 3 ? -1 : 0;
    out[k * stride] = static_cast<int8_t>(digit);
    // rest ← (rest − digit)/2; a digit 1 falls out of the shift, −1 carries.
    for (size_t limb = 0; limb < 4; ++limb) rest[limb] = rest[limb] >> 1 | (limb < 3 ? rest[limb + 1] << 63 : 0);
    for (size_t limb = 0; digit < 0 && limb < 4; ++limb) {
      if (++rest[limb] != 0) break;
    }
  }
}

}  // namespace

std::vector<Point> fold_points_var(std::span<const AffinePoint> points, std::span<const Scalar> weights, size_t stride,
                                   ThreadPool& pool, const GroupKernels& kernels) {
  const size_t terms = weights.size();
  if (terms == 0) return std::vector<Point>(stride);
  std::vector<int8_t> digits(kDigits * terms);
  for (size_t t = 0; t < terms; ++t) non_adjacent_form(weights[t], &digits[t], terms);

  const size_t groups = (stride + kLanes - 1) / kLanes;
  std::vector<ExtendedPoint> sums(groups * kLanes);
  pool.for_ranges(groups, 16, [&](size_t first, size_t last) {
    std::vector<AffinePoint> chosen(terms * kLanes);
    std::vector<TableEntry> entries(chosen.size());
    for (size_t group = first; group < last; ++group) {
      for (size_t k = 0; k < chosen.size(); ++k) {
        const size_t j = group * kLanes + k % kLanes, at = j + k / kLanes * stride;
        chosen[k] = j < stride && at < points.size() ? points[at] : AffinePoint::identity();
      }
      kernels.make_entries(chosen[0].x.v, chosen.size(), entries.data());
      kernels.combine(entries.data(), digits.data(), terms, kDigits, sums[group * kLanes].X.v);
    }
  });
  return {sums.begin(), sums.begin() + static_cast<std::ptrdiff_t>(stride)};
}

}  // namespace zkapex
