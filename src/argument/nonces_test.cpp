#include "argument/nonces.h"

#include <gtest/gtest.h>

#include <set>

#include "base/bytes.h"
#include "base/repeated_randomness_testing.h"

namespace zkapex {
namespace {

TEST(Nonces, NeverRepeatWithinOrAcrossProofs) {
  std::set<std::array<uint8_t, 32>> seen;
  for (int proof = 0; proof < 3; ++proof) {
    Result<Nonces> nonces = Nonces::create({view("same"), view("inputs")});
    ASSERT_TRUE(nonces.ok());
    for (int k = 0; k < 100; ++k) EXPECT_TRUE(seen.insert(nonces->scalar().to_bytes()).second);
    for (const Scalar& s : nonces->scalars(200)) EXPECT_TRUE(seen.insert(s.to_bytes()).second);  // past a block's end
  }
}

// Keyed anew, a stream depends on what it was and on the new part, and on nothing else.
TEST(Nonces, KeyedAnewDependOnBoth) {
  const testing::RepeatedRandomness repeated;
  const auto drawn = [](std::string_view bound, std::string_view state, int before) {
    Nonces nonces = Nonces::create({view(bound)}).value();
    for (int k = 0; k < before; ++k) (void)nonces.scalar();
    nonces.rekey(view(state));
    return nonces.scalar();
  };
  EXPECT_EQ(drawn("a", "x", 0), drawn("a", "x", 3));
  EXPECT_NE(drawn("a", "x", 0), drawn("a", "y", 0));
  EXPECT_NE(drawn("a", "x", 0), drawn("b", "x", 0));
  EXPECT_NE(drawn("a", "x", 0), Nonces::create({view("a")}).value().scalar());
}

TEST(Nonces, AreUniformInTheirHighBits) {
  // 4096 draws in 16 cells by the bits 248..251: each cell has 256 ± 16; ten deviations are a chance below 1e-20.
  Nonces nonces = Nonces::create({}).value();
  std::array<int, 16> cells{};
  for (int k = 0; k < 4096; ++k) ++cells[nonces.scalar().to_bytes()[31] & 15];
  for (const int count : cells) {
    EXPECT_GT(count, 256 - 160);
    EXPECT_LT(count, 256 + 160);
  }
}

}  // namespace
}  // namespace zkapex
