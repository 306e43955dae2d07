#include <algorithm>

#include "algebra/fold_kernels.h"

namespace zkapex::fold_kernels {

namespace {

template <class T>
const T* row_of(const Entries& entries, size_t row) {
  return reinterpret_cast<const T*>(static_cast<const char*>(entries.data) + row * entries.stride);
}

// Sum: a type that holds kBlockRows products of an entry and a digit.
template <class T, class Sum>
void add_rows(const Entries& entries, const int16_t* digits, size_t passes, int64_t* sums) {
  const size_t pairs = (entries.rows + 1) / 2;
  for (size_t first = 0; first < entries.cols; first += kGroup, sums += kDigits * kGroup) {
    const size_t cols = std::min(kGroup, entries.cols - first);
    Sum group[kDigits][kGroup] = {};
    T entry[kGroup] = {};  // zeros past the last column
    for (size_t row = 0; row < entries.rows; ++row) {
      std::copy_n(row_of<T>(entries, row) + first, cols, entry);
      for (size_t digit = 0; digit < passes * kPassDigits; ++digit) {
        const size_t place = ((digit / kPassDigits) * pairs + row / 2) * kPassDigits + digit % kPassDigits;
        const Sum weight = digits[2 * place + row % 2];
        for (size_t col = 0; col < kGroup; ++col) group[digit][col] += weight * entry[col];
      }
    }
    for (size_t k = 0; k < kDigits * kGroup; ++k) sums[k] += group[k / kGroup][k % kGroup];
  }
}

template <class T>
void add_columns(const Entries& entries, const int16_t* digits, size_t passes, int64_t* sums) {
  const size_t padded = (entries.cols + kGroup - 1) / kGroup * kGroup;
  for (size_t row = 0; row < entries.rows; ++row) {
    const T* entry = row_of<T>(entries, row);
    for (size_t digit = 0; digit < passes * kPassDigits; ++digit) {
      int64_t sum = 0;
      for (size_t col = 0; col < entries.cols; ++col) sum += int64_t{digits[digit * padded + col]} * entry[col];
      sums[row * kDigits + digit] += sum;
    }
  }
}

void rows(const Entries& entries, const int16_t* digits, size_t passes, int64_t* sums) {
  entries.wide ? add_rows<int16_t, int64_t>(entries, digits, passes, sums)
               : add_rows<int8_t, int32_t>(entries, digits, passes, sums);
}

void columns(const Entries& entries, const int16_t* digits, size_t passes, int64_t* sums) {
  entries.wide ? add_columns<int16_t>(entries, digits, passes, sums)
               : add_columns<int8_t>(entries, digits, passes, sums);
}

}  // namespace

const Kernels kPortable = {rows, columns};

}  // namespace zkapex::fold_kernels
