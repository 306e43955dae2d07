#include "argument/point_sum.h"

#include <gtest/gtest.h>

#include "argument/argument_testing.h"

namespace zkapex {
namespace {

using namespace testing;  // NOLINT: test helpers

class PointSumTest : public ::testing::Test {
 protected:
  bool is_identity(const PointSum& sum) { return sum.is_identity_var(test_generators(), pool_); }

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
  generator.add(Point(g.positions()[7]), -s);
  blinding.add_blinding(s);
  blinding.add(g.blinding(), -s);
  value.add_value(s);
  value.add(g.value(), -s);
  for (PointSum* sum : {&generator, &blinding, &value}) {
    EXPECT_TRUE(is_identity(*sum));
    sum->add(Point::base(), Scalar::one());
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

TEST_F(PointSumTest, ScaledSums) {
  PointSum a;
  a.add_generator(2, random_scalar(rng_));
  a.add_blinding(random_scalar(rng_));
  a.add_value(random_scalar(rng_));
  a.add(Point::base(), random_scalar(rng_));
  const Scalar weight = random_scalar(rng_);
  PointSum b;
  b.add_generator(9, Scalar::one());
  b.add_scaled(a, weight);
  b.add_generator(9, -Scalar::one());
  EXPECT_FALSE(is_identity(b));
  b.add_scaled(a, -weight);
  EXPECT_TRUE(is_identity(b));
}

}  // namespace
}  // namespace zkapex
