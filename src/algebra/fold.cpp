#include "algebra/fold.h"

#include <algorithm>

#include "base/bits.h"

namespace zkapex {

using fold_kernels::kBlockRows;
using fold_kernels::kChunkCols;
using fold_kernels::kDigits;
using fold_kernels::kGroup;
using fold_kernels::kPanel;
using fold_kernels::kPassDigits;
using fold_kernels::kPasses;

namespace {

constexpr size_t kChunkRows = 16 * kBlockRows;  // weights whose digits (128 KB) are made at a time
constexpr size_t kColumnBlockRows = 16;         // rows of fold_columns that share a walk over the weights

// w = sum of digit_i 2^(16 i), digits in [-2^15, 2^15); w < 2^253, so no carry leaves the last.
void split(const Scalar& weight, int16_t (&digits)[kDigits]) {
  const Words4& words = weight.montgomery_words();
  uint32_t carry = 0;
  for (size_t k = 0; k < kDigits; ++k) {
    const uint32_t digit = static_cast<uint32_t>(words[k / 4] >> (16 * (k % 4)) & 0xffff) + carry;
    digits[k] = static_cast<int16_t>(static_cast<uint16_t>(digit));
    carry = (digit + 0x8000) >> 16;
  }
}

// The digits of one block's weights, in the order of Kernels::rows.
void split_rows(std::span<const Scalar> weights, int16_t* out) {
  const size_t pairs = (weights.size() + 1) / 2;
  std::fill_n(out, 2 * pairs * kDigits, int16_t{0});
  for (size_t row = 0; row < weights.size(); ++row) {
    int16_t digits[kDigits];
    split(weights[row], digits);
    for (size_t k = 0; k < kDigits; ++k) {
      out[2 * (((k / kPassDigits) * pairs + row / 2) * kPassDigits + k % kPassDigits) + row % 2] = digits[k];
    }
  }
}

// The digits of one chunk's weights, in the order of Kernels::columns.
void split_columns(std::span<const Scalar> weights, int16_t* out) {
  const size_t padded = round_up(weights.size(), kGroup);
  std::fill_n(out, padded * kDigits, int16_t{0});
  for (size_t col = 0; col < weights.size(); ++col) {
    int16_t digits[kDigits];
    split(weights[col], digits);
    for (size_t k = 0; k < kDigits; ++k) out[k * padded + col] = digits[k];
  }
}

// sum of sums[i stride] 2^(16 i) mod l; each below 2^62 in size.
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

}  // namespace

int IntMatrix::at(size_t row, size_t col) const {
  const char* start = static_cast<const char*>(entries_.data) + row * entries_.stride;
  return entries_.wide ? reinterpret_cast<const int16_t*>(start)[col] : reinterpret_cast<const int8_t*>(start)[col];
}

fold_kernels::Entries IntMatrix::part(size_t row, size_t rows, size_t col, size_t cols) const {
  const char* start = static_cast<const char*>(entries_.data) + row * entries_.stride + col * (entries_.wide ? 2 : 1);
  const ptrdiff_t band = entries_.band == fold_kernels::kNoBand
                             ? entries_.band
                             : entries_.band + static_cast<ptrdiff_t>(row) - static_cast<ptrdiff_t>(col);
  return {start, entries_.stride, rows, cols, entries_.wide, band};
}

IntMatrix IntMatrix::lower_triangle() const {
  IntMatrix out = *this;
  out.entries_.band = 0;
  return out;
}

const fold_kernels::Kernels& fold_kernels_of([[maybe_unused]] InstructionSet set) {
#if defined(__x86_64__)
  if (set == InstructionSet::kAvx512) return fold_kernels::kAvx512;
  if (set == InstructionSet::kAvx2) return fold_kernels::kAvx2;
#elif defined(__aarch64__)
  if (set == InstructionSet::kNeon) return fold_kernels::kNeon;
#endif
  return fold_kernels::kPortable;
}

const fold_kernels::Kernels& native_fold_kernels() { return fold_kernels_of(instruction_set()); }

RowFolder::RowFolder(size_t cols, ThreadPool& pool, size_t triangle, size_t first, const fold_kernels::Kernels& kernels)
    : cols_(cols),
      triangle_(triangle),
      first_(first),
      pool_(pool),
      kernels_(kernels),
      sums_(round_up(cols, kGroup) * kDigits) {}

// How many columns of a panel are not zero by the shape of the rows.
size_t RowFolder::live_columns(size_t first, size_t count) const {
  if (triangle_ == 0 || triangle_ % kPanel != 0) return count;
  const size_t at = first_ + first, row = at / triangle_ % triangle_, col = at % triangle_;
  return col > row ? 0 : std::min(count, round_up(row - col + 1, kGroup));
}

void RowFolder::add(const IntMatrix& rows, std::span<const Scalar> weights) {
  ZKAPEX_BOUND(rows.cols() == cols_ && rows.rows() == weights.size());
  rows_ += rows.rows();
  ZKAPEX_BOUND(rows_ <= uint64_t{1} << 32);
  for (size_t first = 0; first < rows.rows(); first += kChunkRows) {
    const size_t count = std::min(kChunkRows, rows.rows() - first), blocks = (count + kBlockRows - 1) / kBlockRows;
    digits_.resize(std::max(digits_.size(), round_up(count, 2) * kDigits));
    const auto block_rows = [&](size_t block) { return std::min(kBlockRows, count - block * kBlockRows); };
    pool_.for_each(blocks, [&](size_t block) {
      split_rows(weights.subspan(first + block * kBlockRows, block_rows(block)),
                 digits_.data() + block * kBlockRows * kDigits);
    });
    pool_.for_each((cols_ + kPanel - 1) / kPanel, [&](size_t panel) {
      const size_t col = panel * kPanel, cols = live_columns(col, std::min(kPanel, cols_ - col));
      if (cols == 0) return;
      for (size_t block = 0; block < blocks; ++block) {
        kernels_.rows(rows.part(first + block * kBlockRows, block_rows(block), col, cols),
                      digits_.data() + block * kBlockRows * kDigits, kPasses, sums_.data() + col * kDigits);
      }
    });
  }
}

std::vector<Scalar> RowFolder::finish() {
  std::vector<Scalar> out(cols_);
  pool_.for_ranges(cols_, 256, [&](size_t begin, size_t end) {
    for (size_t col = begin; col < end; ++col) {
      out[col] = join(sums_.data() + col / kGroup * kGroup * kDigits + col % kGroup, kGroup);
    }
  });
  std::fill(sums_.begin(), sums_.end(), 0);
  rows_ = 0;
  return out;
}

std::vector<Scalar> fold_rows(const IntMatrix& matrix, std::span<const Scalar> weights, ThreadPool& pool,
                              const fold_kernels::Kernels& kernels) {
  RowFolder folder(matrix.cols(), pool, 0, 0, kernels);
  folder.add(matrix, weights);
  return folder.finish();
}

std::vector<Scalar> fold_columns(const IntMatrix& matrix, std::span<const Scalar> weights, ThreadPool& pool,
                                 const fold_kernels::Kernels& kernels) {
  ZKAPEX_BOUND(matrix.cols() == weights.size());
  std::vector<int16_t> digits(round_up(weights.size(), kGroup) * kDigits);
  const size_t chunks = (weights.size() + kChunkCols - 1) / kChunkCols;
  const auto chunk_cols = [&](size_t chunk) { return std::min(kChunkCols, weights.size() - chunk * kChunkCols); };
  pool.for_each(chunks, [&](size_t chunk) {
    split_columns(weights.subspan(chunk * kChunkCols, chunk_cols(chunk)), digits.data() + chunk * kChunkCols * kDigits);
  });
  std::vector<Scalar> out(matrix.rows());
  pool.for_each((matrix.rows() + kColumnBlockRows - 1) / kColumnBlockRows, [&](size_t block) {
    const size_t row = block * kColumnBlockRows, rows = std::min(kColumnBlockRows, matrix.rows() - row);
    int64_t sums[kColumnBlockRows * kDigits] = {};
    for (size_t chunk = 0; chunk < chunks; ++chunk) {
      kernels.columns(matrix.part(row, rows, chunk * kChunkCols, chunk_cols(chunk)),
                      digits.data() + chunk * kChunkCols * kDigits, kPasses, sums);
    }
    for (size_t k = 0; k < rows; ++k) out[row + k] = join(sums + k * kDigits, 1);
  });
  return out;
}

}  // namespace zkapex
