#include "argument/sumcheck_kernels.h"

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <random>

#include "argument/sumcheck_table.h"
#include "base/bits.h"

namespace zkapex {
namespace {

using Form = SumcheckKernels::Form;
using Product = SumcheckKernels::Product;

// Each set of kernels against sums and folds by the formula.
class SumcheckKernelsTest : public ::testing::TestWithParam<InstructionSet> {
 protected:
  Scalar scalar() {
    std::array<uint8_t, 64> bytes;
    for (uint8_t& b : bytes) b = static_cast<uint8_t>(rng_());
    return Scalar::from_bytes_wide(bytes);
  }
  // Among them 0, 1 and those whose words are 0, 1, l − 1, and a single set bit at the ends of limbs.
  UnsetVector<Scalar> scalars(size_t count) {
    std::vector<Scalar> edges = {Scalar::zero(), Scalar::one(), unscaled(1), -unscaled(1), -Scalar::one()};
    for (const unsigned bit :
         {25U, 26U, 51U, 52U, 77U, 78U, 103U, 104U, 129U, 130U, 155U, 156U, 181U, 182U, 207U, 208U, 233U, 234U, 251U}) {
      Words4 words{};
      words[bit / 64] = uint64_t{1} << (bit % 64);
      edges.push_back(Scalar::from_montgomery_words(words));
      edges.push_back(edges.back() - unscaled(1));  // a run of ones
    }
    UnsetVector<Scalar> out(count);
    for (Scalar& s : out) s = rng_() % 2 == 0 ? edges[rng_() % edges.size()] : scalar();
    return out;
  }
  const uint64_t* scaled(const Scalar& s) {
    scaled_.push_back(s * Scalar::power_of_two(kernels_.scale_bits));
    return scaled_.back().montgomery_words().data();
  }
  const uint64_t* unscaled_words(const Scalar& s) {
    scaled_.push_back(s);
    return scaled_.back().montgomery_words().data();
  }

  static std::vector<Scalar> plain(const SumcheckTable& table) {
    const SumcheckKernels::Entries from = table.entries();
    std::vector<Scalar> out(from.length);
    const auto* values = static_cast<const Scalar*>(from.values);
    for (size_t i = 0; i < out.size(); ++i) {
      switch (from.form) {
        case Form::kScalars:
          out[i] = values[i];
          break;
        case Form::kInt64:
          out[i] = unscaled(static_cast<const int64_t*>(from.values)[i]);
          break;
        case Form::kInt128:
          out[i] = unscaled(static_cast<const int128*>(from.values)[i]);
          break;
        case Form::kBytes:
          out[i] = unscaled(static_cast<const uint8_t*>(from.values)[i]);
          break;
        case Form::kChosen:
          out[i] = from.bytes[i] != 0 ? values[i >> from.block_bits] : Scalar::zero();
          break;
        case Form::kSigned:
          out[i] = unscaled(static_cast<const int64_t*>(from.values)[i >> from.block_bits] *
                            static_cast<int8_t>(from.bytes[i]));
          break;
        case Form::kBlocks:
          out[i] = values[i >> from.block_bits];
          break;
        case Form::kPeriodic:
          out[i] = values[i % from.period];
          break;
        case Form::kStored:
          ADD_FAILURE();
          break;
      }
    }
    return out;
  }
  static std::vector<Scalar> folded(const std::vector<Scalar>& table, const Scalar& x) {
    std::vector<Scalar> out((table.size() + 1) / 2);
    for (size_t i = 0; i < out.size(); ++i) {
      const Scalar one = 2 * i + 1 < table.size() ? table[2 * i + 1] : Scalar::zero();
      out[i] = table[2 * i] + x * (one - table[2 * i]);
    }
    return out;
  }

  std::array<Scalar, 3> sums_of(const SumcheckKernels::Sums& sums) const {
    uint64_t words[3][9];
    kernels_.export_sums(sums, words);
    std::array<Scalar, 3> out;
    for (size_t e = 0; e < 3; ++e) {
      out[e] = ScalarAccumulator(std::to_array(words[e])).reduce();
    }
    return out;
  }

  // What pairs are: their entries one by one, told by sums with one weight that is not zero.
  void expect_pairs(const SumcheckKernels::Pairs& pairs, const std::vector<Scalar>& table, size_t start, size_t size) {
    const auto at = [&](size_t i) { return i < table.size() ? table[i] : Scalar::zero(); };
    const SumcheckKernels::Pairs* factors[1] = {&pairs};
    for (size_t i = 0; i < size; ++i) {
      std::vector<Scalar> weight(SumcheckKernels::kChunk);
      weight[i] = Scalar::power_of_two(kernels_.scale_bits);
      SumcheckKernels::Weights weights;
      kernels_.set_weights(weight[0].montgomery_words().data(), weight.size(), &weights);
      SumcheckKernels::Sums sums{};
      kernels_.add_products(Product::kEqOne, false, true, factors, 0, size, &weights, unscaled_words(Scalar::one()),
                            &sums);
      ASSERT_EQ(sums_of(sums)[0], at(2 * (start + i))) << start + i;
      ASSERT_EQ(sums_of(sums)[1], at(2 * (start + i) + 1)) << start + i;
    }
  }

  // A table as it is, folded once and twice, and once more from what was stored; also in place.
  void check_table(const SumcheckTable& table) {
    const Scalar x = scalar(), y = -Scalar::one(), z = unscaled(-1);
    const std::vector<Scalar> given = plain(table), once = folded(given, x), twice = folded(once, y);
    const SumcheckKernels::Entries from = table.entries();
    UnsetVector<Scalar> one(round_up(once.size(), 8)), two(round_up(twice.size(), 8));
    const auto memory = [](UnsetVector<Scalar>& v) { return reinterpret_cast<uint64_t*>(v.data()); };
    SumcheckKernels::Pairs pairs;
    const auto each = [&](const std::vector<Scalar>& expected, const auto& load) {
      const size_t count = (expected.size() + 1) / 2;
      for (size_t start = 0; start < count; start += SumcheckKernels::kChunk) {
        const size_t size = std::min(SumcheckKernels::kChunk, count - start);
        load(start, size);
        expect_pairs(pairs, expected, start, size);
      }
    };
    each(given, [&](size_t s, size_t n) { kernels_.load(from, nullptr, nullptr, s, n, nullptr, &pairs); });
    each(once, [&](size_t s, size_t n) { kernels_.load(from, scaled(x), nullptr, s, n, nullptr, &pairs); });
    each(once, [&](size_t s, size_t n) { kernels_.load(from, nullptr, scaled(x), s, n, memory(one), &pairs); });
    each(twice, [&](size_t s, size_t n) { kernels_.load(from, scaled(x), scaled(y), s, n, memory(two), &pairs); });
    if (from.form == Form::kInt64 || from.form == Form::kInt128) {  // over themselves
      SumcheckTable::Owned own(from.form == Form::kInt128, from.length);
      std::memcpy(own.memory().data(), from.values, from.length * (own.wide() ? sizeof(int128) : sizeof(int64_t)));
      UnsetVector<Scalar>& room = own.memory();
      const SumcheckKernels::Entries entries{from.form, false, from.length, room.data()};
      each(twice,
           [&](size_t s, size_t n) { kernels_.load(entries, scaled(x), scaled(y), s, n, memory(room), &pairs); });
      const SumcheckTable left({SumcheckTable::Stored{room, twice.size()}}, false);
      each(twice, [&](size_t s, size_t n) { kernels_.load(left.entries(), nullptr, nullptr, s, n, nullptr, &pairs); });
    }
    const SumcheckTable stored({SumcheckTable::Stored{one, once.size()}}, table.sparse);
    each(once, [&](size_t s, size_t n) { kernels_.load(stored.entries(), nullptr, nullptr, s, n, nullptr, &pairs); });
    SumcheckTable in_place({SumcheckTable::Stored{two, twice.size()}}, table.sparse);
    auto& room = std::get<SumcheckTable::Stored>(in_place.values).memory;
    each(folded(twice, z), [&](size_t s, size_t n) {
      kernels_.load(in_place.entries(), nullptr, scaled(z), s, n, memory(room), &pairs);
    });
  }

  const SumcheckKernels& kernels_ = sumcheck_kernels(GetParam());
  std::mt19937_64 rng_{11};
  std::deque<Scalar> scaled_;
};

TEST_P(SumcheckKernelsTest, LoadFoldAndStore) {
  for (const size_t length : {size_t{1}, size_t{2}, size_t{7}, size_t{8}, size_t{9}, size_t{31}, size_t{64},
                              size_t{100}, size_t{260}, size_t{300}, size_t{2600}}) {
    check_table({scalars(length)});
    std::vector<int64_t> narrow(length);
    std::vector<int128> wide(length);
    std::vector<uint8_t> bytes(length), few(length);
    std::vector<int8_t> signs(length);
    constexpr int64_t kNarrow[] = {INT64_MIN, INT64_MAX, 0, -1, (int64_t{1} << 52) - 1, -(int64_t{1} << 52)};
    constexpr int64_t kMagnitudes[] = {0, 1, INT64_MAX, int64_t{1} << 52};
    const int128 limit = int128{1} << 126;
    const int128 wide_edges[] = {limit - 1, 1 - limit, 0, -1, int128{1} << 104, -(int128{1} << 64)};
    for (size_t i = 0; i < length; ++i) {
      narrow[i] = rng_() % 2 == 0 ? kNarrow[rng_() % 6] : static_cast<int64_t>(rng_());
      wide[i] = rng_() % 2 == 0 ? wide_edges[rng_() % 6]
                                : static_cast<int128>(static_cast<int64_t>(rng_())) * static_cast<int64_t>(rng_() >> 2);
      bytes[i] = rng_() % 2;
      few[i] = i % 97 == 3;
      signs[i] = static_cast<int8_t>(static_cast<int>(rng_() % 3) - 1);
    }
    check_table({std::span<const int64_t>(narrow)});
    check_table({std::span<const int128>(wide)});
    check_table({std::span<const uint8_t>(bytes)});
    check_table({std::span<const uint8_t>(few), true});
    for (const unsigned bits : {0U, 2U, 3U, 5U}) {
      const UnsetVector<Scalar> some = scalars((length >> bits) + 1);
      const std::vector<Scalar> values(some.begin(), some.end());
      check_table({SumcheckTable::Chosen{values, bits, few}, true});
      check_table({SumcheckTable::Chosen{values, bits, bytes}});
      check_table({SumcheckTable::Blocks{{values.begin(), values.end() - 1}, bits}});
      std::vector<int64_t> magnitudes((length >> bits) + 1);
      for (int64_t& m : magnitudes) m = rng_() % 2 == 0 ? kMagnitudes[rng_() % 4] : static_cast<int64_t>(rng_() >> 1);
      check_table({SumcheckTable::Signed{magnitudes, bits, signs}});
      check_table({SumcheckTable::Periodic{{size_t{1} << bits, values[0]}, length}});
      const UnsetVector<Scalar> period = scalars(size_t{1} << bits);
      check_table({SumcheckTable::Periodic{{period.begin(), period.end()}, length}});
    }
  }
}

TEST_P(SumcheckKernelsTest, MultiplicationAgreesWithScalars) {
  constexpr size_t kSize = SumcheckKernels::kChunk;
  const UnsetVector<Scalar> given = scalars(2 * kSize), factors = scalars(24);
  for (const Scalar& factor : factors) {
    for (const size_t rounds : {size_t{0}, size_t{1}, size_t{5}}) {
      SumcheckKernels::Pairs pairs;
      kernels_.load(SumcheckTable(given).entries(), nullptr, nullptr, 0, kSize, nullptr, &pairs);
      kernels_.repeat_multiplication(&pairs, scaled(factor), rounds);
      std::vector<Scalar> expected(given.begin(), given.end());
      for (size_t r = 0; r < rounds; ++r) {
        for (Scalar& s : expected) s = s * factor;
      }
      expect_pairs(pairs, expected, 0, kSize);
    }
  }
}

TEST_P(SumcheckKernelsTest, Products) {
  for (const size_t size : {size_t{1}, size_t{8}, size_t{20}, size_t{127}, size_t{128}}) {
    const UnsetVector<Scalar> a = scalars(2 * size), b = scalars(2 * size), c = scalars(2 * size);
    const Scalar outer = scalar();
    std::vector<Scalar> w(size), weight(size);
    for (size_t i = 0; i < size; ++i) {
      w[i] = i == 0 ? -unscaled(1) : scalar();
      weight[i] = w[i] * Scalar::power_of_two(kernels_.scale_bits);
    }
    SumcheckKernels::Weights weights;
    kernels_.set_weights(weight[0].montgomery_words().data(), size, &weights);
    std::array<SumcheckKernels::Pairs, 3> pairs;
    const UnsetVector<Scalar>* tables[3] = {&a, &b, &c};
    for (size_t k = 0; k < 3; ++k) {
      kernels_.load(SumcheckTable(*tables[k]).entries(), nullptr, nullptr, 0, size, nullptr, &pairs[k]);
    }
    const SumcheckKernels::Pairs* factors[3] = {&pairs[0], &pairs[1], &pairs[2]};
    const Scalar scale = Scalar::power_of_two(kernels_.scale_bits);
    for (const Product product :
         {Product::kOne, Product::kTwo, Product::kThree, Product::kSquare, Product::kEqOne, Product::kEqTwo}) {
      const bool eq = product == Product::kEqOne || product == Product::kEqTwo;
      for (const bool with_outer : {false, true}) {
        const bool three = product == Product::kThree || product == Product::kSquare;
        if (eq ? !with_outer : three && with_outer) continue;  // never asked for
        for (const size_t begin : {size_t{0}, kernels_.lanes}) {
          if (begin >= size) continue;
          std::array<Scalar, 3> expected{};
          for (size_t i = begin; i < size; ++i) {
            const Scalar a0 = a[2 * i], a1 = a[2 * i + 1], b0 = b[2 * i], b1 = b[2 * i + 1];
            const bool square = product == Product::kSquare;
            const Scalar c0 = square ? b0 : c[2 * i], c1 = square ? b1 : c[2 * i + 1];
            const Scalar da = a1 - a0, db = b1 - b0, dc = c1 - c0;
            std::array<Scalar, 3> term{};
            if (product == Product::kOne) term = {a0};
            if (product == Product::kTwo) term = {a0 * b0, da * db};
            if (product == Product::kThree || square) {
              term = {a0 * b0 * c0, a0 * db * dc + da * (b0 * dc + db * c0), da * db * dc};
            }
            if (product == Product::kEqOne) term = {w[i] * a0, w[i] * a1};
            if (product == Product::kEqTwo) term = {w[i] * a0 * b0, w[i] * a1 * b1, w[i] * da * db};
            for (size_t e = 0; e < 3; ++e) expected[e] += with_outer ? outer * term[e] : term[e];
          }
          SumcheckKernels::Sums sums{};
          constexpr int kTimes = 50;  // sums are carried on
          for (int k = 0; k < kTimes; ++k) {
            kernels_.add_products(product, false, true, factors, begin, size, &weights,
                                  with_outer ? unscaled_words(outer) : nullptr, &sums);
          }
          const bool divided = three || product == Product::kEqTwo || (product == Product::kTwo && with_outer);
          for (size_t e = 0; e < 3; ++e) {
            const Scalar sum = divided ? sums_of(sums)[e] * scale : sums_of(sums)[e];
            EXPECT_EQ(sum, expected[e] * Scalar::from_u64(kTimes))
                << static_cast<int>(product) << ' ' << e << ' ' << size;
          }
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sumcheck, SumcheckKernelsTest,
                         ::testing::ValuesIn(instruction_sets_up_to(detect_instruction_set())),
                         [](const auto& set) { return std::string(name(set.param)); });

}  // namespace
}  // namespace zkapex
