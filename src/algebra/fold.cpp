#include "algebra/fold.h"

#include <algorithm>

#include "algebra/fold_digits.h"
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

// The digits of one block's weights, in the order of Kernels::rows.
void split_rows(std::span<const Scalar> weights, int16_t* out) {
  const size_t pairs = (weights.size() + 1) / 2;
  std::fill_n(out, 2 * pairs * kDigits, int16_t{0});
  for (size_t row = 0; row < weights.size(); ++row) {
    int16_t digits[kDigits];
    fold_digits::split(weights[row], digits);
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
    fold_digits::split(weights[col], digits);
    for (size_t k = 0; k < kDigits; ++k) out[k * padded + col] = digits[k];
  }
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
  pool_.for_ranges((cols_ + kGroup - 1) / kGroup, 16, [&](size_t first, size_t last) {
    const size_t begin = first * kGroup, end = std::min(cols_, last * kGroup);
    fold_digits::join_groups(kernels_, std::span(sums_).subspan(begin * kDigits),
                             std::span(out).subspan(begin, end - begin));
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
    for (size_t k = 0; k < rows; ++k) out[row + k] = fold_digits::join(sums + k * kDigits, 1);
  });
  return out;
}

}  // namespace zkapex
