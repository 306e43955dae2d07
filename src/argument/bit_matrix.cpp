#include "argument/bit_matrix.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace zkapex {

namespace {

// Exchanges off-diagonal squares of a side that the compiler knows: then it takes several words at a time.
template <unsigned kSide>
void exchange_squares(uint64_t (&block)[64]) {
  constexpr uint64_t kMask = ~uint64_t{0} / ((uint64_t{1} << kSide) + 1);  // the lower half of every 2 kSide bits
  for (unsigned first = 0; first < 64; first += 2 * kSide) {
    for (unsigned j = first; j < first + kSide; ++j) {
      const uint64_t t = ((block[j] >> kSide) ^ block[j + kSide]) & kMask;
      block[j] ^= t << kSide;
      block[j + kSide] ^= t;
    }
  }
}

}  // namespace

void transpose_64(uint64_t (&block)[64]) {
  exchange_squares<32>(block);
  exchange_squares<16>(block);
  exchange_squares<8>(block);
  exchange_squares<4>(block);
  exchange_squares<2>(block);
  exchange_squares<1>(block);
}

BitMatrix::BitMatrix(size_t row_length, unsigned planes, std::span<const size_t> segments)
    : row_length_(row_length), words_per_row_((row_length + 63) / 64), planes_(planes), first_row_{0} {
  for (const size_t rows : segments) first_row_.push_back(first_row_.back() + planes * rows);
  bits_.resize(first_row_.back() * words_per_row_);
}

BitMatrix::BitMatrix(std::span<const uint64_t> words, size_t row_length, unsigned planes,
                     std::span<const size_t> segments, ThreadPool& pool)
    : BitMatrix(row_length, planes, segments) {
  for (size_t s = 0; s < segments.size(); ++s) {
    fill(s, 0, words.first(segments[s] * row_length), pool);
    words = words.subspan(segments[s] * row_length);
  }
}

void BitMatrix::fill(size_t segment, size_t first_row, std::span<const uint64_t> words, ThreadPool& pool) {
  const size_t rows = (first_row_[segment + 1] - first_row_[segment]) / planes_;
  uint64_t* out = bits_.data() + (first_row_[segment] + first_row) * words_per_row_;
  pool.for_each(words.size() / row_length_, [&](size_t t) {
    for (size_t w = 0; w < words_per_row_; ++w) {
      uint64_t block[64] = {};
      std::copy_n(words.data() + t * row_length_ + 64 * w, std::min<size_t>(64, row_length_ - 64 * w), block);
      transpose_64(block);
      for (unsigned k = 0; k < planes_; ++k) out[(k * rows + t) * words_per_row_ + w] = block[k];
    }
  });
}

std::vector<uint64_t> BitMatrix::integers(size_t segment, ThreadPool& pool) const {
  const size_t rows = (first_row_[segment + 1] - first_row_[segment]) / planes_;
  const uint64_t* in = bits_.data() + first_row_[segment] * words_per_row_;
  std::vector<uint64_t> out(rows * row_length_);
  pool.for_each(rows, [&](size_t t) {
    for (size_t w = 0; w < words_per_row_; ++w) {
      uint64_t block[64] = {};
      for (unsigned k = 0; k < planes_; ++k) block[k] = in[(k * rows + t) * words_per_row_ + w];
      transpose_64(block);
      std::copy_n(block, std::min<size_t>(64, row_length_ - 64 * w), out.data() + t * row_length_ + 64 * w);
    }
  });
  return out;
}

std::vector<std::vector<uint8_t>> BitMatrix::planes(size_t segment) const {
  const size_t rows = (first_row_[segment + 1] - first_row_[segment]) / planes_;
  const uint64_t* in = bits_.data() + first_row_[segment] * words_per_row_;
  std::vector<std::vector<uint8_t>> out(planes_, std::vector<uint8_t>((rows * row_length_ + 7) / 8));
  for (unsigned k = 0; k < planes_; ++k, in += rows * words_per_row_) {
    if (row_length_ % 64 == 0) {
      std::memcpy(out[k].data(), in, out[k].size());
      continue;
    }
    for (size_t i = 0; i < rows * row_length_; ++i) {  // short rows end inside a word
      const size_t l = i % row_length_;
      const uint64_t bit = in[i / row_length_ * words_per_row_ + l / 64] >> (l % 64) & 1;
      out[k][i / 8] = static_cast<uint8_t>(out[k][i / 8] | bit << (i % 8));
    }
  }
  return out;
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
