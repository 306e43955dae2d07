#include "algebra/field.h"

#include <gtest/gtest.h>

#include "algebra/group_testing.h"

namespace zkapex {
namespace {

using Bytes32 = std::array<uint8_t, 32>;

// 2^255 − 19 + offset, for small offsets.
Bytes32 near_p(int offset) {
  Bytes32 out;
  out.fill(0xff);
  out[0] = static_cast<uint8_t>(0xed + offset);
  out[31] = 0x7f;
  return out;
}

Fe random_element(std::mt19937_64& rng) { return Fe::from_bytes(testing::random_bytes<32>(rng)); }

std::vector<Fe> edge_elements() {
  std::vector<Fe> out = {Fe::zero(), Fe::one(), -Fe::one(), kSqrtM1, kOneHalf, kEdwardsD};
  out.push_back(Fe::from_bytes(near_p(0)));   // p, which is 0
  out.push_back(Fe::from_bytes(near_p(18)));  // 2^255 − 1, which is 18
  for (size_t limb = 0; limb < 5; ++limb) {
    Fe x = Fe::zero();
    x.v[limb] = Fe::kLimbMask;
    out.push_back(x);
  }
  Fe largest;
  for (uint64_t& limb : largest.v) limb = 7 * Fe::kUnit - 1;  // the bound of a factor
  out.push_back(largest);
  return out;
}

// Schoolbook: canonical bytes as digits to the base 256, reduced by 2^256 = 38.
Bytes32 multiply_bytes(const Bytes32& a, const Bytes32& b) {
  std::array<uint64_t, 64> columns{};
  for (size_t i = 0; i < 32; ++i) {
    for (size_t j = 0; j < 32; ++j) columns[i + j] += uint64_t{a[i]} * b[j];
  }
  for (size_t k = 0; k < 32; ++k) columns[k] += 38 * columns[k + 32];
  uint64_t carry = 0;
  for (int round = 0; round < 3; ++round) {
    for (size_t k = 0; k < 32; ++k) {
      carry += columns[k];
      columns[k] = carry & 0xff;
      carry >>= 8;
    }
    carry *= 38;
  }
  EXPECT_EQ(carry, 0U);
  Bytes32 out;
  for (size_t k = 0; k < 32; ++k) out[k] = static_cast<uint8_t>(columns[k]);
  // Below 2^256: bit 255 is worth 19, then at most one p is left, which from_bytes and canonical take off.
  const Fe high = Fe::from_u64(out[31] >> 7 ? 19 : 0);
  return (Fe::from_bytes(out) + high).to_bytes();
}

TEST(Field, ProductsAgreeWithSchoolbook) {
  std::mt19937_64 rng(1);
  std::vector<Fe> elements = edge_elements();
  for (int k = 0; k < 60; ++k) elements.push_back(random_element(rng));
  for (const Fe& a : elements) {
    for (const Fe& b : elements) {
      EXPECT_EQ((a * b).to_bytes(), multiply_bytes(a.to_bytes(), b.to_bytes()));
    }
    EXPECT_EQ(a.square().to_bytes(), multiply_bytes(a.to_bytes(), a.to_bytes()));
    EXPECT_EQ(a.carried().to_bytes(), a.to_bytes());
  }
}

TEST(Field, Laws) {
  std::mt19937_64 rng(2);
  for (int k = 0; k < 200; ++k) {
    const Fe a = random_element(rng), b = random_element(rng), c = random_element(rng);
    EXPECT_EQ((a + b) * c, (a * c + b * c));
    EXPECT_EQ((a - b) * c, (a * c - b * c));
    EXPECT_EQ(a - b, -(b - a).carried());
    EXPECT_TRUE((a * a.invert() - Fe::one()).is_zero());
    EXPECT_EQ(a.square_times(3), (a * a) * (a * a) * ((a * a) * (a * a)));
    EXPECT_EQ(a.abs().is_negative(), false);
    EXPECT_TRUE(a.abs() == a || a.abs() == -a);
    EXPECT_NE(a.is_negative(), (-a).is_negative());
  }
  EXPECT_TRUE(Fe::zero().invert().is_zero());
  EXPECT_FALSE(Fe::zero().is_negative());
}

TEST(Field, OnlyCanonicalBytesDecode) {
  std::mt19937_64 rng(3);
  for (int offset = -19; offset < 19; ++offset) {
    const auto decoded = Fe::from_canonical_bytes(near_p(offset));
    EXPECT_EQ(decoded.has_value(), offset < 0) << offset;
    const Fe expected = offset < 0 ? -Fe::from_u64(static_cast<uint64_t>(-offset)) : Fe::from_u64(uint64_t(offset));
    EXPECT_EQ(Fe::from_bytes(near_p(offset)), expected);
  }
  for (int k = 0; k < 100; ++k) {
    const Bytes32 bytes = random_element(rng).to_bytes();
    ASSERT_TRUE(Fe::from_canonical_bytes(bytes).has_value());
    EXPECT_EQ(Fe::from_canonical_bytes(bytes)->to_bytes(), bytes);
    Bytes32 high = bytes;
    high[31] |= 0x80;
    EXPECT_FALSE(Fe::from_canonical_bytes(high).has_value());
    EXPECT_EQ(Fe::from_bytes(high).to_bytes(), bytes);
  }
}

// Every limb counts: elements that differ in one bit, the lowest or the highest of a limb, are different.
TEST(Field, OneBitMakesADifference) {
  std::mt19937_64 rng(6);
  const Fe a = random_element(rng);
  for (size_t limb = 0; limb < 5; ++limb) {
    for (const unsigned bit : {0U, 50U}) {
      Fe difference = Fe::zero();
      difference.v[limb] = uint64_t{1} << bit;
      EXPECT_FALSE(difference.is_zero()) << limb;
      EXPECT_NE(a + difference, a) << limb;
      EXPECT_NE(difference, Fe::zero()) << limb;
    }
  }
}

TEST(Field, SelectAndSwap) {
  std::mt19937_64 rng(4);
  const Fe a = random_element(rng), b = random_element(rng);
  EXPECT_EQ(select(true, a, b), a);
  EXPECT_EQ(select(false, a, b), b);
  Fe x = a, y = b;
  swap_if(false, x, y);
  EXPECT_TRUE(x == a && y == b);
  swap_if(true, x, y);
  EXPECT_TRUE(x == b && y == a);
}

TEST(Field, SqrtRatio) {
  std::mt19937_64 rng(5);
  int squares = 0;
  for (int k = 0; k < 200; ++k) {
    const Fe u = random_element(rng), v = random_element(rng);
    const SquareRoot r = sqrt_ratio_m1(u, v);
    EXPECT_FALSE(r.root.is_negative());
    EXPECT_EQ(r.root.square() * v, r.was_square ? u : u * kSqrtM1);
    squares += r.was_square;
    EXPECT_TRUE(sqrt_ratio_m1(u.square() * v, v).was_square);
    EXPECT_EQ(sqrt_ratio_m1(u.square() * v, v).root, u.abs());
  }
  EXPECT_GT(squares, 50);
  EXPECT_LT(squares, 150);
  // RFC 9496: (true, 0) for u = 0, (false, 0) for v = 0.
  EXPECT_TRUE(sqrt_ratio_m1(Fe::zero(), kEdwardsD).was_square);
  EXPECT_TRUE(sqrt_ratio_m1(Fe::zero(), kEdwardsD).root.is_zero());
  EXPECT_FALSE(sqrt_ratio_m1(Fe::one(), Fe::zero()).was_square);
  EXPECT_TRUE(sqrt_ratio_m1(Fe::one(), Fe::zero()).root.is_zero());
}

#ifdef ZKAPEX_CHECK_BOUNDS
TEST(FieldDeathTest, BoundsAreChecked) {
  Fe loose;
  for (uint64_t& limb : loose.v) limb = 7 * Fe::kUnit;
  EXPECT_DEATH(static_cast<void>(loose * Fe::one()), "");
  EXPECT_DEATH(static_cast<void>(loose.square()), "");
  EXPECT_DEATH(static_cast<void>(Fe::one() - (Fe::one() + loose)), "");
}
#endif

TEST(Field, Constants) {
  const Fe a_minus_d = (-Fe::one() - kEdwardsD).carried();
  EXPECT_EQ(kEdwardsD * Fe::from_u64(121666), -Fe::from_u64(121665));
  EXPECT_EQ(kEdwards2D, kEdwardsD + kEdwardsD);
  EXPECT_EQ(kSqrtM1.square(), -Fe::one());
  EXPECT_EQ(kSqrtAdMinusOne.square(), (-kEdwardsD - Fe::one()));
  EXPECT_EQ(kInvSqrtAMinusD.square() * a_minus_d, Fe::one());
  EXPECT_EQ(kOneMinusDSq, Fe::one() - kEdwardsD.square());
  EXPECT_EQ(kDMinusOneSq, (kEdwardsD - Fe::one()).square());
  EXPECT_EQ(kOneHalf + kOneHalf, Fe::one());
}

}  // namespace
}  // namespace zkapex
