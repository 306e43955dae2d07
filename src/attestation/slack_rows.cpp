#include "attestation/slack_rows.h"

#include <algorithm>

namespace zkapex {

Scalar to_scalar(const Wide& value) {
  std::array<uint8_t, 64> bytes;
  for (size_t k = 0; k < 64; ++k) bytes[k] = static_cast<uint8_t>(value.limbs()[k / 8] >> (8 * (k % 8)));
  return Scalar::from_bytes_wide(bytes);
}

std::vector<Scalar> SlackRows::weights(std::span<const Scalar> powers, size_t p) const {
  const size_t first = p * per_row(), end = std::min(first + per_row(), count);
  std::vector<Scalar> out;
  for (size_t k = first; k < end; ++k) {
    for (unsigned b = 0; b < bits; ++b) out.push_back(powers[k] * Scalar::power_of_two(b));
  }
  return out;
}

Scalar SlackRows::weight_at(std::span<const Scalar> powers, size_t p, std::span<const Scalar> r) const {
  // Σ_b 2^b eq(r, a NB + b) is 2^(−a NB) of what 2^i eq(r, i) sums up to in between.
  const ProductFunction power_of_two = pow2_pairs(r);
  const Scalar less = Scalar::power_of_two(bits).inverse();
  const size_t first = p * per_row(), end = std::min(first + per_row(), count);
  Scalar out, before, scale = Scalar::one();
  for (size_t k = first; k < end; ++k, scale *= less) {
    const Scalar after = prefix(power_of_two, (k - first + 1) * bits);
    out += powers[k] * scale * (after - before);
    before = after;
  }
  return out;
}

SlackBits::SlackBits(const SlackRows& rows, std::vector<Wide> slacks) : shape_(rows), slacks_(std::move(slacks)) {
  words_.resize(rows.rows() * words_per_row());
  for (size_t k = 0; k < slacks_.size(); ++k) {
    const size_t first = k % rows.per_row() * rows.bits;
    uint64_t* row = words_.data() + k / rows.per_row() * words_per_row();
    for (unsigned b = 0; b < rows.bits; ++b) {
      row[(first + b) / 64] |= uint64_t{slacks_[k].bit(b)} << ((first + b) % 64);
    }
  }
}

PackedRows SlackBits::packed() const {
  return {reinterpret_cast<const uint8_t*>(words_.data()), words_.size() / words_per_row(), 8 * words_per_row(),
          shape_.row_length, 1};
}

std::span<const uint8_t> SlackBits::bytes(size_t p) const {
  const auto* all = reinterpret_cast<const uint8_t*>(words_.data());
  return {all + 8 * p * words_per_row(), (shape_.row_length + 7) / 8};
}

std::vector<std::vector<uint8_t>> SlackBits::planes() const {
  std::vector<std::vector<uint8_t>> out;
  for (size_t p = 0; p < shape_.rows(); ++p) out.emplace_back(bytes(p).begin(), bytes(p).end());
  return out;
}

Scalar SlackBits::sum(std::span<const Scalar> powers) const {
  Scalar out;
  for (size_t k = 0; k < slacks_.size(); ++k) out += powers[k] * to_scalar(slacks_[k]);
  return out;
}

}  // namespace zkapex
