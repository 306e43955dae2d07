#include <algorithm>

#include "algebra/fold.h"
#include "base/bits.h"

namespace zkapex {

using fold_kernels::kBlockRows;
using fold_kernels::kChunkCols;
using fold_kernels::kDigits;
using fold_kernels::kGroup;
using fold_kernels::kPanel;
using fold_kernels::kPassDigits;

namespace {

// Passes of four 16-bit digits; the topmost digit has room for a carry. |w| < 2^126.
size_t passes_for(std::span<const int128> weights) {
  uint128 used = 0;
  for (const int128 w : weights) used |= static_cast<uint128>(w < 0 ? ~w : w);
  return used >> 62 == 0 ? 1 : 2;
}

// write(k, digit k) with w = Σ digit_k 2^(16 k)
template <class Write>
void split(int128 w, size_t digits, const Write& write) {
  for (size_t k = 0; k < digits; ++k) {
    const auto digit = static_cast<int16_t>(static_cast<uint16_t>(w & 0xffff));
    write(k, digit);
    w = (w - digit) >> 16;
  }
}

int128 join(const int64_t* sums, size_t stride, size_t digits) {
  int128 out = 0;
  for (size_t k = digits; k-- > 0;) out = out * (int128{1} << 16) + sums[k * stride];
  return out;
}

}  // namespace

void fold_rows_exact(const IntMatrix& matrix, std::span<const int128> weights, std::span<int128> out,
                     const fold_kernels::Kernels& kernels) {
  ZKAPEX_BOUND(matrix.rows() == weights.size() && matrix.cols() == out.size());
  const size_t passes = passes_for(weights);
  std::vector<int64_t> sums(round_up(out.size(), kGroup) * kDigits);
  int16_t digits[2 * kPassDigits * kBlockRows];
  for (size_t first = 0; first < weights.size(); first += kBlockRows) {
    const size_t rows = std::min(kBlockRows, weights.size() - first), pairs = (rows + 1) / 2;
    std::fill_n(digits, 2 * pairs * kPassDigits * passes, int16_t{0});
    for (size_t row = 0; row < rows; ++row) {
      split(weights[first + row], passes * kPassDigits, [&](size_t k, int16_t digit) {
        digits[2 * (((k / kPassDigits) * pairs + row / 2) * kPassDigits + k % kPassDigits) + row % 2] = digit;
      });
    }
    for (size_t col = 0; col < out.size(); col += kPanel) {
      kernels.rows(matrix.part(first, rows, col, std::min(kPanel, out.size() - col)), digits, passes,
                   sums.data() + col * kDigits);
    }
  }
  for (size_t col = 0; col < out.size(); ++col) {
    out[col] = join(sums.data() + col / kGroup * kGroup * kDigits + col % kGroup, kGroup, passes * kPassDigits);
  }
}

void fold_columns_exact(const IntMatrix& matrix, std::span<const int128> weights, std::span<int128> out,
                        const fold_kernels::Kernels& kernels) {
  ZKAPEX_BOUND(matrix.cols() == weights.size() && matrix.rows() == out.size());
  const size_t passes = passes_for(weights);
  std::vector<int64_t> sums(out.size() * kDigits);
  std::vector<int16_t> digits;
  for (size_t first = 0; first < weights.size(); first += kChunkCols) {
    const size_t cols = std::min(kChunkCols, weights.size() - first), padded = round_up(cols, kGroup);
    digits.assign(passes * kPassDigits * padded, 0);
    for (size_t col = 0; col < cols; ++col) {
      split(weights[first + col], passes * kPassDigits,
            [&](size_t k, int16_t digit) { digits[k * padded + col] = digit; });
    }
    kernels.columns(matrix.part(0, out.size(), first, cols), digits.data(), passes, sums.data());
  }
  for (size_t row = 0; row < out.size(); ++row) out[row] = join(sums.data() + row * kDigits, 1, passes * kPassDigits);
}

}  // namespace zkapex
