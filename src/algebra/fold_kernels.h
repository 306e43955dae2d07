// The integer inner loops of fold.h, one set per instruction set. Plain data only: this header is compiled with AVX2
// and AVX-512 enabled too, so it must not pull in inline functions that the rest of the program shares.
//
// A weight is sixteen signed 16-bit digits, w = sum of digit_i 2^(16 i). An entry is int8, or int16 as high * 256 + low
// with high in [-128, 127] and low in [0, 255]; so a product of an entry's part and a digit is at most 255 * 2^15 in
// size, and a 32-bit lane holds 256 of them: 255 * 2^15 * 256 < 2^31.
#pragma once

#include <cstddef>
#include <cstdint>

namespace zkapex::fold_kernels {

inline constexpr size_t kDigits = 16;     // per weight
inline constexpr size_t kPassDigits = 4;  // digits handled in one pass over the entries
inline constexpr size_t kPasses = kDigits / kPassDigits;
inline constexpr size_t kGroup = 16;        // columns that share a vector of sums
inline constexpr size_t kBlockRows = 256;   // rows per call of `rows`
inline constexpr size_t kPanel = 128;       // columns per call of `rows`
inline constexpr size_t kChunkCols = 2048;  // columns per call of `columns`: 16 lanes of a vector, 128 steps

// Entries in row-major order.
struct Entries {
  const void* data;
  size_t stride;  // bytes from a row to the next
  size_t rows, cols;
  bool wide;       // int16, not int8
  ptrdiff_t band;  // entries with col > row + band are zero, and a kernel may skip them
};

inline constexpr ptrdiff_t kNoBand = PTRDIFF_MAX / 2;

struct Kernels {
  // sums += for each column and digit: sum over rows of entry * digit. rows <= kBlockRows, cols <= kPanel.
  // digits: [pass][pair of rows][digit of the pass][row of the pair], zero for a missing row;
  // sums: [group of columns][digit of kDigits][column of the group]. Only the digits of the first `passes` are there.
  void (*rows)(const Entries& entries, const int16_t* digits, size_t passes, int64_t* sums);

  // sums += for each row and digit: sum over columns of entry * digit. cols <= kChunkCols.
  // digits: [digit][column], rows of cols rounded up to kGroup, zero past cols; sums: [row][digit of kDigits].
  void (*columns)(const Entries& entries, const int16_t* digits, size_t passes, int64_t* sums);

  // What follows not all have: null, and others do it by what is above.

  // The same two with all digits, for a lower triangle of `block` rows that are packed one after another, row j with
  // j + 1 entries. digits: [pair of weights][digit][weight of the pair], zero for a missing weight; sums: [group of
  // columns, or of rows][digit][column or row of the group].
  void (*triangle_rows)(const int8_t* entries, size_t block, const int16_t* digits, int64_t* sums) = nullptr;
  void (*triangle_columns)(const int8_t* entries, size_t block, const int16_t* digits, int64_t* sums) = nullptr;

  // out[i] = factor · Σ_k sums[group of i][k][i in its group] 2^(16 k) mod l for i < count, as Scalars' words; sums are
  // below 2^62 in size, and there for whole groups.
  void (*join_groups)(const int64_t* sums, size_t count, const uint64_t* factor, uint64_t* out) = nullptr;
};

extern const Kernels kPortable;
#if defined(__x86_64__)
extern const Kernels kAvx2, kAvx512;
#elif defined(__aarch64__)
extern const Kernels kNeon;
#endif

}  // namespace zkapex::fold_kernels
