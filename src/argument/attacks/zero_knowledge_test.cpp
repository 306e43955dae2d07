#include <gtest/gtest.h>

#include "argument/attacks/simulator_testing.h"

namespace zkapex {
namespace {

using namespace testing;  // NOLINT: test helpers

class ZeroKnowledge : public ::testing::Test {
 protected:
  const RangeStatement range_{"zero knowledge", 8, 4, {2, 1}};
  const MatrixStatement matrix_{"zero knowledge", 16, 4, 4};

  Proof prove(std::span<const int64_t> values) { return prove_range(range_, values, test_generators(), pool_).value(); }
  Proof prove(const MatrixInstance& instance) {
    return prove_matrix(matrix_, instance.values(), test_generators(), pool_).value();
  }
  [[nodiscard]] MatrixInstance zero_matrix() const {
    const size_t side = matrix_.side, blocks = matrix_.blocks;
    return {std::vector<int8_t>(blocks * side * side), std::vector<int64_t>(blocks * side),
            std::vector<int64_t>(blocks * side)};
  }

  ThreadPool pool_{1};
};

TEST_F(ZeroKnowledge, ProofsOfTwoWitnessesShareNothing) {
  std::mt19937_64 rng(131);
  const std::vector<int64_t> one = random_values(range_, rng), two = random_values(range_, rng);
  expect_nothing_shared({prove(one), prove(two), prove(one)});
  const MatrixInstance a = random_instance(matrix_, rng), b = random_instance(matrix_, rng);
  expect_nothing_shared({prove(a), prove(b), prove(a)});
}

// With a witness of zeros every value under a seal is zero: what is sent are the pads and masks themselves. None is
// missing, none is used twice.
TEST_F(ZeroKnowledge, EveryScalarHasAPadOfItsOwn) {
  const std::vector<int64_t> zeros(range_.rows() * range_.row_length);
  expect_nothing_shared({prove(zeros), prove(zeros)});
  expect_nothing_shared({prove(zero_matrix()), prove(zero_matrix())});
}

// χ² of what is sent, over bytes 0..30 and over the highest four bits below 2^252, where ℓ is within 2^−125 of uniform.
// A uniform source exceeds the bounds with probability below 1e-11.
TEST_F(ZeroKnowledge, ScalarsLookUniformForExtremeWitnesses) {
  const auto chi_squared = [](const auto& cells) {
    double total = 0, sum = 0;
    for (const double count : cells) total += count;
    const double expected = total / static_cast<double>(cells.size());
    for (const double count : cells) sum += (count - expected) * (count - expected) / expected;
    return sum;
  };
  for (const int64_t value : {int64_t{0}, int64_t{-8}}) {
    std::array<double, 256> bytes{};
    std::array<double, 16> high{};
    const std::vector<int64_t> values(range_.rows() * range_.row_length, value);
    for (int k = 0; k < 24; ++k) {
      for (const Word& w : masked_scalars(prove(values))) {
        for (size_t at = 0; at < 31; ++at) ++bytes[w[at]];
        ++high[w[31] & 15];
      }
    }
    EXPECT_LT(chi_squared(bytes), 480.0);  // 255 degrees of freedom
    EXPECT_LT(chi_squared(high), 90.0);    // 15 degrees of freedom
  }
}

TEST_F(ZeroKnowledge, TheSimulatorNeedsNoWitness) {
  std::mt19937_64 rng(132);
  for (const AnyRelation& of : {relation(range_), relation(matrix_), relation(RangeStatement{"", 1, 1, {1}})}) {
    expect_simulated(*of, rng, pool_);
  }
}

}  // namespace
}  // namespace zkapex
