#include "algebra/fold_digits.h"

namespace zkapex::fold_digits {

using fold_kernels::kDigits;
using fold_kernels::kGroup;

void split(const Scalar& weight, int16_t (&digits)[kDigits]) {
  const Words4& words = weight.montgomery_words();
  uint32_t carry = 0;
  for (size_t k = 0; k < kDigits; ++k) {
    const uint32_t digit = static_cast<uint32_t>(words[k / 4] >> (16 * (k % 4)) & 0xffff) + carry;
    digits[k] = static_cast<int16_t>(static_cast<uint16_t>(digit));
    carry = (digit + 0x8000) >> 16;
  }
}

Scalar join(const int64_t* sums, size_t stride) {
  Words4 words;
  int128 carry = 0;
  for (size_t k = 0; k < 4; ++k) {
    for (size_t d = 0; d < 4; ++d) carry += static_cast<int128>(sums[(4 * k + d) * stride]) * (int64_t{1} << (16 * d));
    words[k] = static_cast<uint64_t>(carry);
    carry >>= 64;
  }
  return Scalar::from_montgomery_words(montgomery::reduce_signed<NativeWords>(words, static_cast<int64_t>(carry)));
}

void join_groups(const fold_kernels::Kernels& kernels, std::span<const int64_t> sums, std::span<Scalar> out) {
  if (kernels.join_groups != nullptr) return join_groups(kernels, sums, Scalar::one(), out);
  for (size_t i = 0; i < out.size(); ++i) out[i] = join(&sums[i / kGroup * kGroup * kDigits + i % kGroup], kGroup);
}

void join_groups(const fold_kernels::Kernels& kernels, std::span<const int64_t> sums, const Scalar& factor,
                 std::span<Scalar> out) {
  if (kernels.join_groups != nullptr) {
    auto* words = reinterpret_cast<uint64_t*>(out.data());
    kernels.join_groups(sums.data(), out.size(), factor.montgomery_words().data(), words);
    return;
  }
  join_groups(kernels, sums, out);
  for (Scalar& joined : out) joined *= factor;
}

}  // namespace zkapex::fold_digits
