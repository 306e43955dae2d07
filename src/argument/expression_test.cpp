#include "argument/expression.h"

#include <gtest/gtest.h>

#include "argument/argument_testing.h"

namespace zkapex {
namespace {

using namespace testing;  // NOLINT: test helpers

// An expression's value when the pads are known.
Scalar value(const Expression& e, std::span<const Scalar> pads) {
  Scalar out = e.constant();
  for (const auto& [pad, coefficient] : e.terms()) out += coefficient * pads[pad];
  return out;
}

TEST(Expression, ArithmeticIsThatOfTheValues) {
  std::mt19937_64 rng(81);
  const std::vector<Scalar> pads = random_scalars(rng, 16);
  const auto random_expression = [&] {
    Expression e(random_scalar(rng));
    for (int k = 0; k < 5; ++k) e += Expression({}, static_cast<uint32_t>(rng() % 16), random_scalar(rng));
    return e;
  };
  for (int round = 0; round < 50; ++round) {
    const Expression a = random_expression(), b = random_expression();
    const Scalar k = random_scalar(rng);
    EXPECT_EQ(value(a + b, pads), value(a, pads) + value(b, pads));
    EXPECT_EQ(value(a - b, pads), value(a, pads) - value(b, pads));
    EXPECT_EQ(value(a * k, pads), value(a, pads) * k);
    EXPECT_EQ(value(a + k, pads), value(a, pads) + k);
    for (const Expression& e : {a + b, a - b, a * k}) {
      for (size_t t = 1; t < e.terms().size(); ++t) EXPECT_LT(e.terms()[t - 1].first, e.terms()[t].first);
    }
  }
}

TEST(Expression, StartsAsZero) {
  EXPECT_TRUE(Expression().constant().is_zero());
  EXPECT_TRUE(Expression().terms().empty());
  const Expression e(Scalar::one(), 3, Scalar::from_u64(2));
  EXPECT_EQ((Expression() + e).terms().size(), 1U);
  EXPECT_EQ((e + Expression()).constant(), Scalar::one());
}

}  // namespace
}  // namespace zkapex
