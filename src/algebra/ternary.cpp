#include "algebra/ternary.h"

#include <algorithm>
#include <array>

#include "algebra/fold.h"
#include "base/bits.h"
#include "base/cpu.h"

namespace zkapex {

namespace ternary_kernels {

void multiply_portable(const Product& p, int32_t* out) {
  for (size_t k = 0; k < p.count; ++k) {
    const int8_t* vector = p.vectors + k * p.stride;
    for (size_t q = 0; q < p.rows; ++q) {
      int32_t sum = 0;
      for (size_t g = 0; g < p.live_count; ++g) {
        for (size_t l = p.live[g]; l < p.live[g] + kGroup; ++l) sum += (p.matrix[q * p.cols + l] - 1) * vector[l];
      }
      out[k * p.rows + q] = sum;
    }
  }
}

}  // namespace ternary_kernels

ternary_kernels::Multiply native_ternary_multiply() {
#if defined(__x86_64__)
  if (instruction_set() >= InstructionSet::kAvx512) return ternary_kernels::multiply_avx512;
  if (instruction_set() >= InstructionSet::kAvx2) return ternary_kernels::multiply_avx2;
#elif defined(__aarch64__)
  if (instruction_set() == InstructionSet::kNeon) return ternary_kernels::multiply_neon;
#endif
  return ternary_kernels::multiply_portable;
}

TernaryMatrix::TernaryMatrix(size_t rows, size_t cols, ByteView bits)
    : TernaryMatrix(rows, cols, [&] { return bits; }) {}

TernaryMatrix::TernaryMatrix(size_t rows, size_t cols, const std::function<ByteView()>& more)
    : rows_(rows), cols_(cols), padded_(round_up(cols, ternary_kernels::kGroup)), entries_(rows * padded_) {
  constexpr uint8_t kPlusOne[4] = {1, 1, 2, 0};
  std::array<std::array<uint8_t, 4>, 256> four;  // entries of a byte
  for (size_t byte = 0; byte < four.size(); ++byte) {
    for (size_t k = 0; k < 4; ++k) four[byte][k] = kPlusOne[byte >> (2 * k) & 3];
  }
  ByteView piece;
  size_t at = 0;  // entries of it that were taken
  for (size_t q = 0; q < rows; ++q) {
    uint8_t* const row = entries_.data() + q * padded_;
    for (size_t l = 0; l < cols;) {
      if (at == 4 * piece.size()) {
        piece = more();
        at = 0;
      }
      const size_t end = std::min(cols, l + 4 * piece.size() - at);
      for (; at % 4 == 0 && l + 4 <= end; l += 4, at += 4) std::copy_n(four[piece[at / 4]].data(), 4, row + l);
      for (; l < end; ++l, ++at) row[l] = four[piece[at / 4]][at % 4];
    }
    std::fill(row + cols, row + padded_, uint8_t{1});
  }
  for (size_t l = 0; l < cols; l += ternary_kernels::kGroup) groups_.push_back(static_cast<uint32_t>(l));
}

std::vector<Scalar> TernaryMatrix::fold(std::span<const Scalar> weights, ThreadPool& pool) const {
  // Bytes 0, 1, 2 are what a fold reads; the ones that are too much come off at the end.
  const IntMatrix matrix(reinterpret_cast<const int8_t*>(entries_.data()), rows_, cols_, padded_);
  std::vector<Scalar> out = fold_rows(matrix, weights, pool);
  Scalar surplus;
  for (const Scalar& weight : weights) surplus += weight;
  for (Scalar& sum : out) sum -= surplus;
  return out;
}

void TernaryMatrix::multiply(const Vectors& vectors, std::span<int32_t> out, ThreadPool& pool,
                             ternary_kernels::Multiply kernel) const {
  constexpr size_t kAtOnce = 32;  // vectors that share a walk over the matrix
  const std::span<const uint32_t> live = vectors.live.empty() ? std::span<const uint32_t>(groups_) : vectors.live;
  pool.for_each((vectors.count + kAtOnce - 1) / kAtOnce, [&](size_t part) {
    const size_t first = part * kAtOnce, count = std::min(kAtOnce, vectors.count - first);
    const int8_t* entries = vectors.entries + first * vectors.stride;
    size_t stride = vectors.stride;
    std::vector<int8_t> copies;
    if (padded_ != cols_) {  // a vector that ends inside a group gets zeros up to its end
      copies.resize(count * padded_);
      for (size_t k = 0; k < count; ++k) std::copy_n(entries + k * stride, cols_, copies.data() + k * padded_);
      entries = copies.data();
      stride = padded_;
    }
    kernel({entries_.data(), rows_, padded_, entries, count, stride, live.data(), live.size()},
           out.data() + first * rows_);
  });
}

}  // namespace zkapex
