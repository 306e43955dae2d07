#include "argument/bit_matrix.h"

#include <algorithm>
#include <bit>

namespace zkapex {

void transpose_64(uint64_t (&block)[64]) {
  // Exchanges off-diagonal squares of side 32, 16, .., 1.
  uint64_t mask = 0x00000000ffffffffULL;
  for (unsigned side = 32; side != 0; side >>= 1, mask ^= mask << side) {
    for (unsigned j = 0; j < 64; j = ((j | side) + 1) & ~side) {
      const uint64_t t = ((block[j] >> side) ^ block[j | side]) & mask;
      block[j] ^= t << side;
      block[j | side] ^= t;
    }
  }
}

BitMatrix::BitMatrix(std::span<const uint64_t> words, size_t row_length, unsigned planes,
                     std::span<const size_t> segments, ThreadPool& pool)
    : row_length_(row_length), words_per_row_((row_length + 63) / 64), first_row_{0} {
  for (const size_t rows : segments) first_row_.push_back(first_row_.back() + planes * rows);
  bits_.resize(first_row_.back() * words_per_row_);
  const uint64_t* in = words.data();
  for (size_t s = 0; s < segments.size(); ++s) {
    const size_t rows = segments[s];
    uint64_t* out = bits_.data() + first_row_[s] * words_per_row_;
    pool.for_each(rows, [&](size_t t) {
      for (size_t w = 0; w < words_per_row_; ++w) {
        uint64_t block[64] = {};
        std::copy_n(in + t * row_length_ + 64 * w, std::min<size_t>(64, row_length_ - 64 * w), block);
        transpose_64(block);
        for (unsigned k = 0; k < planes; ++k) out[(k * rows + t) * words_per_row_ + w] = block[k];
      }
    });
    in += rows * row_length_;
  }
}

std::span<const uint64_t> BitMatrix::segment(size_t index) const {
  return std::span(bits_).subspan(first_row_[index] * words_per_row_,
                                  (first_row_[index + 1] - first_row_[index]) * words_per_row_);
}

PackedRows BitMatrix::packed() const {
  static_assert(std::endian::native == std::endian::little, "packed rows are read byte by byte");
  return {reinterpret_cast<const uint8_t*>(bits_.data()), rows(), 8 * words_per_row_, row_length_, 1};
}

std::vector<Scalar> sign_weights(unsigned bits) {
  std::vector<Scalar> out(bits);
  for (unsigned k = 0; k < bits; ++k) out[k] = Scalar::power_of_two(k);
  out[bits - 1] = -out[bits - 1];
  return out;
}

}  // namespace zkapex
