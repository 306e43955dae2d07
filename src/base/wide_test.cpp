#include "base/wide.h"

#include <gtest/gtest.h>

#include <random>

namespace zkapex {
namespace {

TEST(Wide, AgreesWith128BitArithmetic) {
  std::mt19937_64 rng(1);
  for (int k = 0; k < 2000; ++k) {
    const uint64_t a = rng() >> (rng() % 64), b = rng() >> (rng() % 64), d = (rng() >> (rng() % 63)) + 1;
    EXPECT_EQ(Wide(a) + Wide(b), Wide::from(static_cast<uint128>(a) + b));
    EXPECT_EQ(Wide(a) * Wide(b), Wide::from(static_cast<uint128>(a) * b));
    EXPECT_EQ((Wide(a) * Wide(b)).divided_by(d), Wide::from(static_cast<uint128>(a) * b / d));
    EXPECT_EQ(Wide(a) <=> Wide(b), a <=> b);
    if (a >= b) {
      EXPECT_EQ(Wide(a) - Wide(b), Wide(a - b));
    }
  }
}

TEST(Wide, KeepsTheLawsOfArithmetic) {
  std::mt19937_64 rng(2);
  const auto any = [&] { return Wide::from(static_cast<uint128>(rng()) << 64 | rng()); };
  for (int k = 0; k < 500; ++k) {
    const Wide a = any(), b = any(), c = any(), d = any();
    EXPECT_EQ((a + b) * (c + d), a * c + a * d + b * c + b * d);
    EXPECT_EQ((a * b) * (c * d), (a * c) * (b * d));
    EXPECT_EQ(a * b + c - c, a * b);
    EXPECT_LT(a * b, a * b + Wide(1));
    const uint64_t divisor = rng() | 1;
    const Wide quotient = (a * b).divided_by(divisor), back = quotient * divisor;
    EXPECT_LE(back, a * b);
    EXPECT_LT(a * b, back + divisor);
  }
}

TEST(Wide, SquaresOfSignedNumbers) {
  const int128 big = (int128{1} << 100) + 12345;
  EXPECT_EQ(Wide::square_of(-big), Wide::square_of(big));
  EXPECT_EQ(Wide::square_of(-3), Wide(9));
  const auto least = static_cast<int128>(uint128{1} << 127);
  EXPECT_EQ(Wide::square_of(least), Wide::power_of_two(254));
}

TEST(Wide, SaturatesInsteadOfWrapping) {
  const Wide half = Wide::power_of_two(511);
  EXPECT_EQ(half + half, Wide::max());
  EXPECT_EQ(half * Wide(2), Wide::max());
  EXPECT_EQ(Wide::power_of_two(256) * Wide::power_of_two(256), Wide::max());
  EXPECT_EQ(Wide::power_of_two(512), Wide::max());
  EXPECT_EQ(Wide::max() + Wide(1), Wide::max());
  EXPECT_EQ(Wide::max() * Wide(1), Wide::max());
  EXPECT_EQ(Wide::max() * Wide(0), Wide(0));
  const Wide root = Wide::power_of_two(256) - Wide(1);
  EXPECT_EQ(root * root, Wide::max() - (Wide::power_of_two(257) - Wide(2)));
}

TEST(Wide, BitsAndDigits) {
  EXPECT_EQ(Wide().bit_length(), 0U);
  for (unsigned k : {0U, 1U, 63U, 64U, 200U, 511U}) {
    const Wide v = Wide::power_of_two(k);
    EXPECT_EQ(v.bit_length(), k + 1);
    EXPECT_TRUE(v.bit(k));
    EXPECT_FALSE(v.bit(k + 1));
  }
  EXPECT_EQ(Wide().decimal(), "0");
  EXPECT_EQ(Wide::power_of_two(128).decimal(), "340282366920938463463374607431768211456");
  EXPECT_EQ(Wide().approximate(), 0);
  EXPECT_EQ((Wide::power_of_two(200) + Wide::power_of_two(170)).approximate(), 0x1p200 + 0x1p170);
}

}  // namespace
}  // namespace zkapex
