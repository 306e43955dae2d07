#include "algebra/multilinear.h"

#include <gtest/gtest.h>

#include <random>

#include "algebra/group_testing.h"

namespace zkapex {
namespace {

class MultilinearTest : public ::testing::Test {
 protected:
  Scalar random() { return testing::random_scalar(generator_); }
  std::vector<Scalar> random_vector(size_t n) {
    std::vector<Scalar> out(n);
    for (Scalar& x : out) x = random();
    return out;
  }
  std::mt19937_64 generator_{7};
};

// Bit t of i, most significant first, as a scalar: the corner of the hypercube with index i.
std::vector<Scalar> corner(size_t i, size_t variables) {
  std::vector<Scalar> out;
  for (size_t t = 0; t < variables; ++t) out.push_back(Scalar::from_u64(i >> (variables - 1 - t) & 1));
  return out;
}

// eq by its definition, factor by factor.
Scalar eq_plain(const std::vector<Scalar>& r, size_t i) {
  Scalar out = Scalar::one();
  for (size_t t = 0; t < r.size(); ++t) out *= (i >> (r.size() - 1 - t) & 1) != 0 ? r[t] : Scalar::one() - r[t];
  return out;
}

TEST_F(MultilinearTest, EqTableAndEq) {
  for (size_t variables = 0; variables <= 6; ++variables) {
    const std::vector<Scalar> r = random_vector(variables);
    const std::vector<Scalar> table = eq_table(r);
    ASSERT_EQ(table.size(), size_t{1} << variables);
    for (size_t i = 0; i < table.size(); ++i) {
      EXPECT_EQ(table[i], eq_plain(r, i));
      EXPECT_EQ(eq(r, corner(i, variables)), table[i]);
    }
    for (size_t count = 0; count <= table.size(); ++count) {
      EXPECT_EQ(eq_prefix(r, count), std::vector<Scalar>(table.begin(), table.begin() + static_cast<ptrdiff_t>(count)));
    }
  }
}

TEST_F(MultilinearTest, EqOfThreeIsTheExtensionOfAProduct) {
  for (size_t variables = 0; variables <= 4; ++variables) {
    const std::vector<Scalar> a = random_vector(variables), b = random_vector(variables), c = random_vector(variables);
    std::vector<Scalar> product = eq_table(a);
    for (size_t i = 0; i < product.size(); ++i) product[i] *= eq_plain(b, i);
    EXPECT_EQ(eq(a, b, c), evaluate(product, c));
  }
}

TEST_F(MultilinearTest, EqIsSymmetricAndMultilinear) {
  const std::vector<Scalar> a = random_vector(5), b = random_vector(5);
  EXPECT_EQ(eq(a, b), eq(b, a));
  EXPECT_EQ(eq(a, b), inner_product(eq_table(a), eq_table(b)));
}

TEST_F(MultilinearTest, EvaluateAgreesWithTheSumOverTheCube) {
  for (size_t variables = 0; variables <= 5; ++variables) {
    const std::vector<Scalar> r = random_vector(variables);
    for (size_t size = 0; size <= size_t{1} << variables; ++size) {
      const std::vector<Scalar> table = random_vector(size);
      Scalar expected;
      for (size_t i = 0; i < size; ++i) expected += table[i] * eq_plain(r, i);
      EXPECT_EQ(evaluate(table, r), expected) << variables << " " << size;
    }
  }
}

TEST_F(MultilinearTest, FoldLowBindsTheLeastSignificantVariable) {
  for (size_t size : {0u, 1u, 2u, 3u, 4u, 7u, 8u, 9u, 31u}) {
    const std::vector<Scalar> table = random_vector(size);
    const Scalar x = random();
    std::vector<Scalar> folded = table;
    fold_low(folded, x);
    ASSERT_EQ(folded.size(), (size + 1) / 2);
    for (size_t i = 0; i < folded.size(); ++i) {
      const Scalar high = 2 * i + 1 < size ? table[2 * i + 1] : Scalar::zero();
      EXPECT_EQ(folded[i], table[2 * i] + x * (high - table[2 * i]));
    }
  }
}

TEST_F(MultilinearTest, FoldingAtZeroAndOneSelects) {
  const std::vector<Scalar> table = random_vector(8);
  std::vector<Scalar> even = table, odd = table;
  fold_low(even, Scalar::zero());
  fold_low(odd, Scalar::one());
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(even[i], table[2 * i]);
    EXPECT_EQ(odd[i], table[2 * i + 1]);
  }
}

TEST_F(MultilinearTest, ProductFunctionsAtEveryIndex) {
  for (size_t variables = 0; variables <= 6; ++variables) {
    const std::vector<Scalar> r = random_vector(variables), s = random_vector(variables);
    const ProductFunction e = eq_pairs(r), e2 = eq2_pairs(r, s), p = pow2_pairs(r);
    for (size_t i = 0; i < size_t{1} << variables; ++i) {
      EXPECT_EQ(at(e, i), eq_plain(r, i));
      EXPECT_EQ(at(e2, i), eq_plain(r, i) * eq_plain(s, i));
      EXPECT_EQ(at(p, i), eq_plain(r, i) * Scalar::power_of_two(static_cast<unsigned>(i)));
    }
  }
}

TEST_F(MultilinearTest, PrefixSumsUpToEveryLength) {
  for (size_t variables = 0; variables <= 5; ++variables) {
    ProductFunction f;
    for (size_t t = 0; t < variables; ++t) f.push_back({random(), random()});
    Scalar sum;
    const size_t size = size_t{1} << variables;
    for (size_t t = 0; t <= size; ++t) {
      EXPECT_EQ(prefix(f, t), sum) << variables << " " << t;
      if (t < size) sum += at(f, t);
    }
    EXPECT_EQ(prefix(f, size + 1), sum);
    EXPECT_EQ(prefix(f, ~uint64_t{0}), sum);
  }
}

TEST_F(MultilinearTest, PrefixOfMoreVariablesThanAWordHasBits) {
  // The leading variables are those of zero bits: each contributes its zero factor.
  ProductFunction tail;
  for (int t = 0; t < 64; ++t) tail.push_back({random(), random()});
  ProductFunction f = {{random(), random()}};
  f.insert(f.end(), tail.begin(), tail.end());
  const uint64_t t = 0x8000000000000003;
  EXPECT_EQ(prefix(f, t), f[0].zero * prefix(tail, t));
  EXPECT_EQ(prefix(tail, t + 1) - prefix(tail, t), at(tail, t));
  EXPECT_EQ(at(f, t), f[0].zero * at(tail, t));
}

}  // namespace
}  // namespace zkapex
