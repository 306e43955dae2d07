// The product of small_product.h, written once for any vector width. Each file that includes this defines `Lanes` in an
// unnamed namespace, so that code compiled for one instruction set is never called from another.
#pragma once

#include "learning/small_product.h"

namespace zkapex::small {

// `Rows` rows of the result at `Columns` vectors, held in registers.
template <class Lanes, size_t Rows, size_t Columns>
inline void tile(size_t inner, SmallMatrix a, SmallMatrix b, float* out, size_t out_stride) {
  typename Lanes::Vector acc[Rows][Columns] = {};
  for (size_t k = 0; k < inner; ++k) {
    typename Lanes::Vector right[Columns];
    for (size_t c = 0; c < Columns; ++c) right[c] = Lanes::load(b.data + k * b.stride + c * Lanes::kCount);
    for (size_t r = 0; r < Rows; ++r) {
      const auto left = Lanes::splat(a.data[r * a.stride + k]);
      for (size_t c = 0; c < Columns; ++c) acc[r][c] = Lanes::add_product(acc[r][c], left, right[c]);
    }
  }
  for (size_t r = 0; r < Rows; ++r) {
    for (size_t c = 0; c < Columns; ++c) Lanes::store(out + r * out_stride + c * Lanes::kCount, acc[r][c]);
  }
}

template <class Lanes, size_t Columns>
inline void strip(size_t rows, size_t inner, SmallMatrix a, SmallMatrix b, float* out, size_t out_stride) {
  size_t i = 0;
  for (; i + 4 <= rows; i += 4)
    tile<Lanes, 4, Columns>(inner, {a.data + i * a.stride, a.stride}, b, out + i * out_stride, out_stride);
  for (; i < rows; ++i)
    tile<Lanes, 1, Columns>(inner, {a.data + i * a.stride, a.stride}, b, out + i * out_stride, out_stride);
}

template <class Lanes>
void product(size_t rows, size_t inner, size_t columns, SmallMatrix a, SmallMatrix b, float* out, size_t out_stride) {
  constexpr size_t kWide = 3 * kSmallColumns, kWideVectors = kWide / Lanes::kCount;
  constexpr size_t kNarrowVectors = kSmallColumns / Lanes::kCount;
  size_t j = 0;
  for (; j + kWide <= columns; j += kWide)
    strip<Lanes, kWideVectors>(rows, inner, a, {b.data + j, b.stride}, out + j, out_stride);
  for (; j < columns; j += kSmallColumns)
    strip<Lanes, kNarrowVectors>(rows, inner, a, {b.data + j, b.stride}, out + j, out_stride);
}

}  // namespace zkapex::small
