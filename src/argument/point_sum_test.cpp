#include "argument/point_sum.h"

#include <gtest/gtest.h>

#include "argument/argument_testing.h"

namespace zkapex {
namespace {

using namespace testing;  // NOLINT: test helpers

class PointSumTest : public ::testing::Test {
 protected:
  bool is_identity(const PointSum& sum) { return cancel({&sum, 1}, {Scalar::one()}); }
  bool cancel(std::span<const PointSum> sums, const std::vector<Scalar>& weights) {
    return PointSum::cancel_var(sums, weights, test_generators(), pool_);
  }

  std::mt19937_64 rng_{101};
  ThreadPool pool_{1};
};

TEST_F(PointSumTest, TheEmptySumIsTheIdentity) {
  EXPECT_TRUE(is_identity({}));
  EXPECT_EQ(PointSum().generators(), 0U);
}

TEST_F(PointSumTest, EveryKindOfTermCounts) {
  const Generators& g = test_generators();
  const Scalar s = random_scalar(rng_);
  // Each kind against the same multiple as a plain point.
  PointSum generator, blinding, value;
  generator.add_generator(7, s);
  generator.add(g.positions()[7], -s);
  blinding.add_blinding(s);
  blinding.add(affine(g.blinding()), -s);
  value.add_value(s);
  value.add(affine(g.value()), -s);
  for (PointSum* sum : {&generator, &blinding, &value}) {
    EXPECT_TRUE(is_identity(*sum));
    sum->add(affine(Point::base()), Scalar::one());
    EXPECT_FALSE(is_identity(*sum));
  }
  EXPECT_EQ(generator.generators(), 8U);
}

TEST_F(PointSumTest, TermsOfOneKindAddUp) {
  const Scalar s = random_scalar(rng_);
  PointSum sum;
  sum.add_generator(3, s);
  sum.add_blinding(s);
  sum.add_value(s);
  EXPECT_FALSE(is_identity(sum));
  sum.add_generator(3, -s);
  sum.add_blinding(-s);
  sum.add_value(-s);
  EXPECT_TRUE(is_identity(sum));
}

TEST_F(PointSumTest, FoldedWeightsAreProducts) {
  for (size_t variables = 0; variables <= 9; ++variables) {
    const Scalar first = random_scalar(rng_);
    const std::vector<Scalar> factors = random_scalars(rng_, variables);
    const size_t size = (size_t{1} << variables) - variables / 2;
    const FoldedWeights weights(first, factors, size);
    ASSERT_EQ(weights.size(), size);
    for (size_t i = 0; i < size; ++i) {
      Scalar expected = first;
      for (size_t t = 0; t < variables; ++t) {
        if ((i >> (variables - 1 - t) & 1) != 0) expected *= factors[t];
      }
      EXPECT_EQ(weights[i], expected) << variables << " " << i;
    }
  }
}

// In one block, and in several.
TEST_F(PointSumTest, GeneratorsOneByOneOrTogether) {
  for (const size_t size : {1U, 3U, 127U, 128U, 129U, 300U}) {
    const FoldedWeights weights(random_scalar(rng_), random_scalars(rng_, 9), size);
    const FoldedWeights three(random_scalar(rng_), random_scalars(rng_, 2), 3);
    PointSum sum;
    sum.add_generators(weights);
    sum.add_generators(three);
    EXPECT_EQ(sum.generators(), std::max<size_t>(size, 3));
    for (size_t k = 0; k < size; ++k) sum.add_generator(k, -weights[k]);
    for (size_t k = 0; k < 3; ++k) sum.add_generator(k, -three[k]);
    EXPECT_TRUE(is_identity(sum));
    sum.add_generator(size - 1, Scalar::one());
    EXPECT_FALSE(is_identity(sum));
    sum.add_generator(size - 1, -Scalar::one());
    sum.add_generator(size + 200, Scalar::one());
    EXPECT_EQ(sum.generators(), size + 201);
    EXPECT_FALSE(is_identity(sum));
  }
}

// Each kind of term, in sums of different lengths, that cancel with the right weights only.
TEST_F(PointSumTest, SumsCancelByTheirWeights) {
  const Scalar weight = random_scalar(rng_), s = random_scalar(rng_);
  const std::vector<Scalar> factors = random_scalars(rng_, 8);
  for (int kind = 0; kind < 5; ++kind) {
    std::vector<PointSum> sums(2);
    for (size_t k = 0; k < 2; ++k) {
      const Scalar part = k == 0 ? s : -(weight * s);
      if (kind == 0) sums[k].add_generator(9, part);
      if (kind == 1) sums[k].add_blinding(part);
      if (kind == 2) sums[k].add_value(part);
      if (kind == 3) sums[k].add(affine(Point::base()), part);
      if (kind == 4) sums[k].add_generators({part, factors, 200});
    }
    sums[1].add_generator(20, Scalar::zero());
    EXPECT_TRUE(cancel(sums, {weight, Scalar::one()})) << kind;
    EXPECT_FALSE(cancel(sums, {Scalar::one(), Scalar::one()})) << kind;
    EXPECT_FALSE(cancel(sums, {weight, weight})) << kind;
  }
}

}  // namespace
}  // namespace zkapex
