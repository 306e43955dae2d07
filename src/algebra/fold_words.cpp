// Folds of 64-bit integers and of bits: few enough of them that portable code will do.
#include <algorithm>

#include "algebra/fold.h"
#include "algebra/fold_words.h"

namespace zkapex {

namespace {

// ---- fold_i64: six-word sums of weight * (value + 2^63), which is not negative; 2^63 times the sum of the weights is
// taken off at the end. A term is below 2^64 l < 2^317, so 2^67 rows fit.

struct SixWords {
  Words4 low{};
  uint64_t high0 = 0, high1 = 0;

  ZKAPEX_INLINE void add_product(const Words4& weight, uint64_t value) {
    WideWord p = NativeWords::multiply_add(weight[0], value, low[0]);
    low[0] = p.low;
#pragma GCC unroll 3
    for (size_t k = 1; k < 4; ++k) {
      p = NativeWords::multiply_add(weight[k], value, low[k], p.high);
      low[k] = p.low;
    }
    high0 += p.high;
    high1 += high0 < p.high;
  }

  [[nodiscard]] Scalar reduce() const {
    return Scalar::from_montgomery_words(montgomery::multiply<NativeWords>(montgomery::kR, low)) +
           Scalar::from_montgomery_words(montgomery::multiply<NativeWords>(montgomery::kR2, {high0, high1, 0, 0}));
  }
};

// ---- fold_bits: eight rows share a table of the 256 sums of their weights; a column adds the sum that its eight bits
// select. Sums are kept in five 51-bit limbs, which leave 13 bits for carries: 2^13 additions without one.

constexpr size_t kTableRows = 8;
constexpr size_t kLimbs = 5;
constexpr uint64_t kLimbMask = (uint64_t{1} << 51) - 1;
constexpr size_t kMostAdditions = size_t{1} << 12;

using Limbs = std::array<uint64_t, kLimbs>;

Limbs limbs_of(const Scalar& a) {
  const Words4& w = a.montgomery_words();
  return {w[0] & kLimbMask, (w[0] >> 51 | w[1] << 13) & kLimbMask, (w[1] >> 38 | w[2] << 26) & kLimbMask,
          (w[2] >> 25 | w[3] << 39) & kLimbMask, w[3] >> 12};
}

Scalar scalar_of(const Limbs& limbs) {
  Words4 words{};
  uint128 carry = 0;
  unsigned bits = 0;  // of the carry that stand below the next limb
  size_t word = 0;
  for (const uint64_t limb : limbs) {
    carry += static_cast<uint128>(limb) << bits;
    bits += 51;
    if (bits >= 64) {
      words[word++] = static_cast<uint64_t>(carry);
      carry >>= 64;
      bits -= 64;
    }
  }
  words[word] = static_cast<uint64_t>(carry);
  return Scalar::from_montgomery_words(
      montgomery::reduce_signed<NativeWords>(words, static_cast<int64_t>(carry >> 64)));
}

// table[s] = sum of the weights whose bit is set in s
std::array<Limbs, 256> subset_sums(std::span<const Scalar> weights) {
  std::array<Scalar, 256> sums;
  for (size_t k = 0; k < weights.size(); ++k) {
    for (size_t s = 0; s < size_t{1} << k; ++s) sums[s | size_t{1} << k] = sums[s] + weights[k];
  }
  std::array<Limbs, 256> table;
  std::transform(sums.begin(), sums.end(), table.begin(), limbs_of);
  return table;
}

// Transposes an 8 x 8 bit matrix, byte k being row k (Hacker's Delight, 7-3).
uint64_t transpose(uint64_t x) {
  uint64_t t = (x ^ x >> 7) & 0x00aa00aa00aa00aa;
  x ^= t ^ t << 7;
  t = (x ^ x >> 14) & 0x0000cccc0000cccc;
  x ^= t ^ t << 14;
  t = (x ^ x >> 28) & 0x00000000f0f0f0f0;
  return x ^ t ^ t << 28;
}

// sums[col] += the table's entry for each of the 64 columns of one word of each row.
void add_word(const std::array<Limbs, 256>& table, const uint64_t (&words)[kTableRows], Limbs* sums, size_t cols) {
  for (size_t byte = 0; byte * 8 < cols; ++byte) {
    uint64_t square = 0;
    for (size_t row = 0; row < kTableRows; ++row) square |= (words[row] >> (8 * byte) & 0xff) << (8 * row);
    square = transpose(square);
    for (size_t k = 0; k < std::min<size_t>(8, cols - byte * 8); ++k) {
      const Limbs& term = table[square >> (8 * k) & 0xff];
      Limbs& sum = sums[byte * 8 + k];
      for (size_t limb = 0; limb < kLimbs; ++limb) sum[limb] += term[limb];
    }
  }
}

}  // namespace

void fold_words::fold_portable(const int64_t* values, size_t stride, size_t cols, const uint64_t* weights, size_t rows,
                               uint64_t* out) {
  std::vector<SixWords> sums(cols);
  for (size_t row = 0; row < rows; ++row) {
    const Words4 weight = {weights[4 * row], weights[4 * row + 1], weights[4 * row + 2], weights[4 * row + 3]};
    const int64_t* value = values + row * stride;
    for (size_t k = 0; k < cols; ++k) {
      sums[k].add_product(weight, static_cast<uint64_t>(value[k]) ^ uint64_t{1} << 63);
    }
  }
  for (size_t k = 0; k < cols; ++k) std::ranges::copy(sums[k].reduce().montgomery_words(), out + 4 * k);
}

std::vector<Scalar> fold_i64(std::span<const int64_t> values, size_t cols, std::span<const Scalar> weights,
                             ThreadPool& pool) {
  ZKAPEX_BOUND(values.size() == cols * weights.size());
  fold_words::Fold fold = fold_words::fold_portable;
#if defined(__x86_64__)
  if (instruction_set() >= InstructionSet::kAvx512) fold = fold_words::fold_avx512;
#endif
  Scalar offset;
  for (const Scalar& weight : weights) offset += weight;
  offset *= Scalar::power_of_two(63);
  std::vector<Scalar> out(cols);
  constexpr size_t kBlockCols = 256;  // sums that stay in the first cache while the rows go by
  pool.for_each((cols + kBlockCols - 1) / kBlockCols, [&](size_t block) {
    const size_t first = block * kBlockCols, count = std::min(kBlockCols, cols - first);
    const auto to = std::span(out).subspan(first, count);
    fold(values.data() + first, cols, count, reinterpret_cast<const uint64_t*>(weights.data()), weights.size(),
         reinterpret_cast<uint64_t*>(to.data()));
    for (Scalar& sum : to) sum -= offset;
  });
  return out;
}

std::vector<Scalar> fold_bits(std::span<const uint64_t> rows, size_t words_per_row, size_t cols,
                              std::span<const Scalar> weights, ThreadPool& pool) {
  ZKAPEX_BOUND(rows.size() == words_per_row * weights.size() && cols <= 64 * words_per_row);
  std::vector<Scalar> out(cols);
  std::vector<Limbs> sums(cols);
  constexpr size_t kChunkTables = 64;  // 640 KB of tables at a time
  std::vector<std::array<Limbs, 256>> tables;
  size_t additions = 0;
  const auto flush = [&] {
    pool.for_ranges(cols, 256, [&](size_t begin, size_t end) {
      for (size_t col = begin; col < end; ++col) {
        out[col] += scalar_of(sums[col]);
        sums[col] = {};
      }
    });
    additions = 0;
  };
  for (size_t first = 0; first < weights.size(); first += kChunkTables * kTableRows) {
    const std::span<const Scalar> chunk =
        weights.subspan(first, std::min(kChunkTables * kTableRows, weights.size() - first));
    tables.resize((chunk.size() + kTableRows - 1) / kTableRows);
    const auto table_rows = [&](size_t t) { return std::min(kTableRows, chunk.size() - t * kTableRows); };
    pool.for_each(tables.size(),
                  [&](size_t t) { tables[t] = subset_sums(chunk.subspan(t * kTableRows, table_rows(t))); });
    if (additions + tables.size() > kMostAdditions) flush();
    additions += tables.size();
    pool.for_ranges((cols + 63) / 64, 4, [&](size_t begin, size_t end) {
      for (size_t t = 0; t < tables.size(); ++t) {
        const uint64_t* row = rows.data() + (first + t * kTableRows) * words_per_row;
        for (size_t word = begin; word < end; ++word) {
          uint64_t words[kTableRows] = {};
          for (size_t k = 0; k < table_rows(t); ++k) words[k] = row[k * words_per_row + word];
          add_word(tables[t], words, sums.data() + 64 * word, std::min<size_t>(64, cols - 64 * word));
        }
      }
    });
  }
  flush();
  return out;
}

}  // namespace zkapex
