// smlal multiplies four 16-bit lanes into sums of 32 bits, by a lane of another register if need be.
#include "algebra/fold_kernels.h"

#if defined(__aarch64__)

#include <arm_neon.h>

namespace zkapex::fold_kernels {

namespace {

const char* row_of(const Entries& entries, size_t row) {
  return static_cast<const char*>(entries.data) + row * entries.stride;
}

// Sixteen entries as 16-bit factors, and the power of two that the sum is multiplied by.
struct Narrow {
  static constexpr size_t kEntryBytes = 1;
  static constexpr int kShift = 0;
  static int16x8x2_t load(const char* p) {
    const int8x16_t bytes = vld1q_s8(reinterpret_cast<const int8_t*>(p));
    return {{vmovl_s8(vget_low_s8(bytes)), vmovl_high_s8(bytes)}};
  }
};
int16x8_t load8(const char* p) { return vreinterpretq_s16_s8(vld1q_s8(reinterpret_cast<const int8_t*>(p))); }
struct WideHigh {
  static constexpr size_t kEntryBytes = 2;
  static constexpr int kShift = 8;
  static int16x8x2_t load(const char* p) { return {{vshrq_n_s16(load8(p), 8), vshrq_n_s16(load8(p + 16), 8)}}; }
};
struct WideLow {
  static constexpr size_t kEntryBytes = 2;
  static constexpr int kShift = 0;
  static int16x8x2_t load(const char* p) {
    const int16x8_t low = vdupq_n_s16(255);
    return {{vandq_s16(load8(p), low), vandq_s16(load8(p + 16), low)}};
  }
};

// ---- rows

// tile: [group][row, an even number][column of the group], zeros where there is no entry. A row of the matrix may be
// any power of two away from the next, too many for a cache to hold for all passes.
template <size_t kEntryBytes>
void pack(const Entries& entries, size_t rows, char* tile) {
  constexpr size_t kGroupBytes = kGroup * kEntryBytes;
  const size_t bytes = entries.cols * kEntryBytes, groups = (entries.cols + kGroup - 1) / kGroup;
  for (size_t row = 0; row < rows; ++row) {
    for (size_t group = 0; group < groups; ++group) {
      char* to = tile + (group * rows + row) * kGroupBytes;
      const size_t at = group * kGroupBytes, count = row >= entries.rows ? 0 : bytes - at;
      if (count >= kGroupBytes) {
        __builtin_memcpy(to, row_of(entries, row) + at, kGroupBytes);
      } else {
        __builtin_memset(to, 0, kGroupBytes);
        if (count > 0) __builtin_memcpy(to, row_of(entries, row) + at, count);
      }
    }
  }
}

void add_lanes(int64_t* sums, int32x4_t lanes, int shift) {
  const int64x2_t by = vdupq_n_s64(shift);
  vst1q_s64(sums, vaddq_s64(vld1q_s64(sums), vshlq_s64(vmovl_s32(vget_low_s32(lanes)), by)));
  vst1q_s64(sums + 2, vaddq_s64(vld1q_s64(sums + 2), vshlq_s64(vmovl_high_s32(lanes), by)));
}

// sums[q] += the entries of quarter q of a group, times a digit.
template <int kLane>
void multiply_add(int32x4_t (&sums)[4], const int16x8x2_t& entries, int16x8_t digits) {
  sums[0] = vmlal_laneq_s16(sums[0], vget_low_s16(entries.val[0]), digits, kLane);
  sums[1] = vmlal_high_laneq_s16(sums[1], entries.val[0], digits, kLane);
  sums[2] = vmlal_laneq_s16(sums[2], vget_low_s16(entries.val[1]), digits, kLane);
  sums[3] = vmlal_high_laneq_s16(sums[3], entries.val[1], digits, kLane);
}

// One group of columns, four digits: sixteen vectors of sums stay in registers.
template <class Part>
void multiply_group(const char* tile, size_t pairs, const int16_t* digits, int64_t* sums) {
  constexpr size_t kRow = kGroup * Part::kEntryBytes;
  int32x4_t group[kPassDigits][4] = {};
  for (size_t pair = 0; pair < pairs; ++pair, tile += 2 * kRow, digits += 2 * kPassDigits) {
    const int16x8_t weights = vld1q_s16(digits);
    const int16x8x2_t even = Part::load(tile), odd = Part::load(tile + kRow);
    multiply_add<0>(group[0], even, weights);
    multiply_add<2>(group[1], even, weights);
    multiply_add<4>(group[2], even, weights);
    multiply_add<6>(group[3], even, weights);
    multiply_add<1>(group[0], odd, weights);
    multiply_add<3>(group[1], odd, weights);
    multiply_add<5>(group[2], odd, weights);
    multiply_add<7>(group[3], odd, weights);
  }
  for (size_t d = 0; d < kPassDigits; ++d) {
    for (size_t q = 0; q < 4; ++q) add_lanes(sums + d * kGroup + 4 * q, group[d][q], Part::kShift);
  }
}

void rows(const Entries& entries, const int16_t* digits, size_t passes, int64_t* sums) {
  alignas(16) char tile[kPanel * kBlockRows * sizeof(int16_t)];
  const size_t pairs = (entries.rows + 1) / 2, groups = (entries.cols + kGroup - 1) / kGroup;
  entries.wide ? pack<2>(entries, 2 * pairs, tile) : pack<1>(entries, 2 * pairs, tile);
  for (size_t group = 0; group < groups; ++group) {
    // Above the diagonal there is nothing to add: rows from the group's first column less the band on.
    const auto above = static_cast<ptrdiff_t>(group * kGroup) - entries.band;
    const size_t skip = above <= 0 ? 0 : static_cast<size_t>(above) / 2;
    if (skip >= pairs) continue;
    const char* entry = tile + (group * pairs + skip) * 2 * kGroup * (entries.wide ? 2 : 1);
    for (size_t pass = 0; pass < passes; ++pass) {
      const int16_t* digit = digits + (pass * pairs + skip) * kPassDigits * 2;
      int64_t* sum = sums + (group * kDigits + pass * kPassDigits) * kGroup;
      if (entries.wide) {
        multiply_group<WideHigh>(entry, pairs - skip, digit, sum);
        multiply_group<WideLow>(entry, pairs - skip, digit, sum);
      } else {
        multiply_group<Narrow>(entry, pairs - skip, digit, sum);
      }
    }
  }
}

// ---- columns: the entries of a row meet the digits of sixteen neighbouring weights.

constexpr size_t kLaneCols = 1024;  // columns of which a lane sees a quarter: 256 products, as many as it holds

// The columns begin .. end − 1 of two rows, four digits; `second` may be `first` again, for the last of an odd number
// of rows.
template <class Part>
void multiply_part(const char* first, const char* second, size_t begin, size_t end, const int16_t* digits,
                   size_t padded, int64_t* first_sums, int64_t* second_sums) {
  int32x4_t one[kPassDigits] = {}, two[kPassDigits] = {};
  const auto step = [&](const int16x8x2_t& a, const int16x8x2_t& b, size_t col) {
#pragma GCC unroll 4
    for (size_t d = 0; d < kPassDigits; ++d) {
#pragma GCC unroll 2
      for (size_t half = 0; half < 2; ++half) {
        const int16x8_t weight = vld1q_s16(digits + d * padded + col + 8 * half);
        one[d] = vmlal_s16(one[d], vget_low_s16(a.val[half]), vget_low_s16(weight));
        one[d] = vmlal_high_s16(one[d], a.val[half], weight);
        two[d] = vmlal_s16(two[d], vget_low_s16(b.val[half]), vget_low_s16(weight));
        two[d] = vmlal_high_s16(two[d], b.val[half], weight);
      }
    }
  };
  size_t col = begin;
  for (; col + kGroup <= end; col += kGroup) {
    step(Part::load(first + col * Part::kEntryBytes), Part::load(second + col * Part::kEntryBytes), col);
  }
  if (col < end) {
    alignas(16) char tails[2][kGroup * Part::kEntryBytes] = {};
    __builtin_memcpy(tails[0], first + col * Part::kEntryBytes, (end - col) * Part::kEntryBytes);
    __builtin_memcpy(tails[1], second + col * Part::kEntryBytes, (end - col) * Part::kEntryBytes);
    step(Part::load(tails[0]), Part::load(tails[1]), col);
  }
  for (size_t d = 0; d < kPassDigits; ++d) {
    first_sums[d] += vaddlvq_s32(one[d]) * (1 << Part::kShift);
    if (second_sums != nullptr) second_sums[d] += vaddlvq_s32(two[d]) * (1 << Part::kShift);
  }
}

template <class Part>
void multiply_rows(const char* first, const char* second, size_t cols, const int16_t* digits, size_t padded,
                   int64_t* first_sums, int64_t* second_sums) {
  for (size_t begin = 0; begin < cols; begin += kLaneCols) {
    const size_t end = cols - begin < kLaneCols ? cols : begin + kLaneCols;
    multiply_part<Part>(first, second, begin, end, digits, padded, first_sums, second_sums);
  }
}

void columns(const Entries& entries, const int16_t* digits, size_t passes, int64_t* sums) {
  const size_t padded = (entries.cols + kGroup - 1) / kGroup * kGroup;
  for (size_t digit = 0; digit < passes * kPassDigits; digit += kPassDigits) {
    const int16_t* pass = digits + digit * padded;
    for (size_t row = 0; row < entries.rows; row += 2) {
      const bool pair = row + 1 < entries.rows;
      const char* first = row_of(entries, row);
      const char* second = pair ? row_of(entries, row + 1) : first;
      int64_t* first_sums = sums + row * kDigits + digit;
      int64_t* second_sums = pair ? first_sums + kDigits : nullptr;
      const ptrdiff_t live = static_cast<ptrdiff_t>(row) + (pair ? 2 : 1) + entries.band;  // columns up to the diagonal
      if (live <= 0) continue;
      const size_t cols = static_cast<size_t>(live) < entries.cols ? static_cast<size_t>(live) : entries.cols;
      if (entries.wide) {
        multiply_rows<WideHigh>(first, second, cols, pass, padded, first_sums, second_sums);
        multiply_rows<WideLow>(first, second, cols, pass, padded, first_sums, second_sums);
      } else {
        multiply_rows<Narrow>(first, second, cols, pass, padded, first_sums, second_sums);
      }
    }
  }
}

}  // namespace

const Kernels kNeon = {rows, columns};

}  // namespace zkapex::fold_kernels

#endif
