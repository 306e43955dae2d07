#include "algebra/triangles.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "algebra/fold_digits.h"
#include "algebra/group_testing.h"

namespace zkapex {
namespace {

using fold_kernels::kDigits;
using fold_kernels::kGroup;

std::vector<const fold_kernels::Kernels*> all_kernels() {
  std::vector<const fold_kernels::Kernels*> out;
  for (const InstructionSet set : instruction_sets_up_to(detect_instruction_set()))
    out.push_back(&fold_kernels_of(set));
  return out;
}

// Words whose digits are all −2^15 but the last, all 2^15 − 1, or l − 1.
const Words4 kExtremeWords[] = {{0x7fff7fff7fff8000, 0x7fff7fff7fff7fff, 0x7fff7fff7fff7fff, 0x0fff7fff7fff7fff},
                                {0x7fff7fff7fff7fff, 0x7fff7fff7fff7fff, 0x7fff7fff7fff7fff, 0x0fff7fff7fff7fff},
                                {montgomery::kOrder[0] - 1, montgomery::kOrder[1], 0, uint64_t{1} << 60}};

class TrianglesTest : public ::testing::Test {
 protected:
  Scalar weight() {
    const uint64_t kind = rng_() % 8;
    if (kind < 3) return Scalar::from_montgomery_words(kExtremeWords[kind]);
    return kind == 3 ? Scalar::zero() : testing::random_scalar(rng_);
  }
  std::vector<Scalar> weights(size_t count) {
    std::vector<Scalar> out(count);
    for (Scalar& w : out) w = weight();
    return out;
  }
  // Exactly as many entries as there are, so that a sanitizer sees any read past them.
  template <class Entry>
  std::vector<Entry> triangle(size_t block) {
    std::vector<Entry> out(block * (block + 1) / 2);
    for (Entry& e : out) {
      const uint64_t r = rng_();
      e = r % 4 == 0   ? std::numeric_limits<Entry>::min()
          : r % 4 == 1 ? std::numeric_limits<Entry>::max()
                       : static_cast<Entry>(r >> 8);
    }
    return out;
  }

  // Against one multiplication an entry.
  template <class Entry>
  void check(const std::vector<Entry>& entries, size_t block, const std::vector<Scalar>& w, const Scalar& factor) {
    std::vector<Scalar> rows(w.size()), columns(w.size());
    for (size_t j = 0, at = 0; j < block; ++j) {
      for (size_t l = 0; l <= j; ++l, ++at) {
        const Scalar entry = Scalar::from_i64(entries[at]) * factor;
        rows[l] += w[j] * entry;
        columns[j] += w[l] * entry;
      }
    }
    for (const fold_kernels::Kernels* kernels : all_kernels()) {
      const TriangleFolder folder(w, pool_, *kernels);
      std::vector<Scalar> out(w.size(), Scalar::one());
      folder.rows({entries.data(), block}, factor, out);
      ASSERT_EQ(out, rows) << block << " in " << w.size();
      std::ranges::fill(out, Scalar::one());
      folder.columns({entries.data(), block}, factor, out);
      ASSERT_EQ(out, columns) << block << " in " << w.size();
    }
  }

  std::mt19937_64 rng_{23};
  ThreadPool pool_{2};
};

TEST_F(TrianglesTest, FoldsOfAllSizes) {
  for (const size_t block : {1U, 2U, 3U, 7U, 8U, 15U, 16U, 17U, 31U, 33U, 48U, 100U, 255U, 256U, 257U, 300U}) {
    for (const size_t side : {block, std::bit_ceil(block)}) {
      const std::vector<Scalar> w = weights(side);
      check(triangle<int8_t>(block), block, w, testing::random_scalar(rng_));
      check(triangle<int16_t>(block), block, w, weight());
    }
  }
}

// All entries and all digits as large as they get, in the signs that add up.
TEST_F(TrianglesTest, ExtremeSumsDoNotOverflow) {
  for (const size_t block : {256U, 512U}) {
    for (const Words4& words : kExtremeWords) {
      const std::vector<Scalar> w(block, Scalar::from_montgomery_words(words));
      for (const int entry : {-128, 127}) {
        const std::vector<int8_t> entries(block * (block + 1) / 2, static_cast<int8_t>(entry));
        check(entries, block, w, Scalar::from_montgomery_words(words));
      }
    }
  }
}

// Sums up to their bound of 2^62, in any number and sign.
TEST_F(TrianglesTest, JoinsExtremeSums) {
  constexpr int64_t kMost = (int64_t{1} << 62) - 1;
  for (const size_t count : {1U, 7U, 8U, 9U, 16U, 23U, 40U}) {
    std::vector<int64_t> sums((count + kGroup - 1) / kGroup * kGroup * kDigits);
    for (const int kind : {0, 1, 2, 3}) {
      for (int64_t& sum : sums) {
        const auto random = static_cast<int64_t>(rng_()) >> (rng_() % 60 + 2);
        sum = kind == 0 ? kMost : kind == 1 ? -kMost : kind == 2 ? random : 0;
      }
      for (const Words4& words : kExtremeWords) {
        const Scalar factor = Scalar::from_montgomery_words(words);
        std::vector<Scalar> expected(count), plain(count);
        for (size_t i = 0; i < count; ++i) {
          plain[i] = fold_digits::join(&sums[i / kGroup * kGroup * kDigits + i % kGroup], kGroup);
          expected[i] = factor * plain[i];
        }
        for (const fold_kernels::Kernels* kernels : all_kernels()) {
          std::vector<Scalar> out(count);
          fold_digits::join_groups(*kernels, sums, factor, out);
          ASSERT_EQ(out, expected);
          fold_digits::join_groups(*kernels, sums, out);
          ASSERT_EQ(out, plain);
        }
      }
    }
  }
}

// The room around a triangle stays zero when it is used again.
TEST_F(TrianglesTest, SquaresOfTriangles) {
  TriangleSquare square(4);
  for (int again = 0; again < 2; ++again) {
    const std::vector<int16_t> entries = triangle<int16_t>(3);
    const IntMatrix matrix = square.matrix({entries.data(), 3});
    for (size_t j = 0; j < 4; ++j) {
      for (size_t l = 0; l < 4; ++l) {
        EXPECT_EQ(matrix.at(j, l), j < 3 && l <= j ? entries[j * (j + 1) / 2 + l] : 0);
      }
    }
  }
}

}  // namespace
}  // namespace zkapex
