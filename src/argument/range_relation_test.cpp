#include "argument/range_relation.h"

#include <gtest/gtest.h>

#include <random>

namespace zkapex {
namespace {

class RangeTest : public ::testing::Test {
 protected:
  static const Generators& generators() {
    static ThreadPool pool(2);
    static const Generators g = Generators::derive(512, pool);
    return g;
  }

  std::vector<int64_t> random_values(const RangeStatement& s) {
    std::vector<int64_t> out(s.rows() * s.row_length);
    for (int64_t& v : out) v = static_cast<int64_t>(rng_()) >> (64 - s.bits);
    return out;
  }
  Bytes prove(const RangeStatement& s, std::span<const int64_t> values) {
    const Result<Proof> proof = prove_range(s, values, generators(), pool_);
    EXPECT_TRUE(proof.ok()) << (proof ? "" : proof.error().message);
    return proof ? proof->encode() : Bytes{};
  }
  Verdict verify(const RangeStatement& s, ByteView proof) {
    return zkapex::verify(RangeRelation(s), proof, generators(), pool_);
  }

  std::mt19937_64 rng_{3};
  ThreadPool pool_{2};
};

TEST_F(RangeTest, HonestProofsOfEveryShapeAreAccepted) {
  for (const size_t row_length : {16U, 64U, 128U}) {
    for (const unsigned bits : {1U, 2U, 8U, 40U, 64U}) {
      for (const std::vector<size_t>& segments : {std::vector<size_t>{1}, {3}, {2, 1}, {5, 4}}) {
        const RangeStatement s{"test", row_length, bits, segments};
        if (s.shape().generators() > generators().size()) continue;
        const Bytes proof = prove(s, random_values(s));
        EXPECT_EQ(proof.size(), s.shape().bytes());
        const Verdict verdict = verify(s, proof);
        EXPECT_TRUE(verdict.ok()) << row_length << " " << bits << " " << (verdict ? "" : verdict.error().detail);
      }
    }
  }
}

TEST_F(RangeTest, ExtremeValues) {
  const RangeStatement s{"test", 16, 8, {2}};
  std::vector<int64_t> values(32);
  values[0] = -128;
  values[1] = 127;
  values[2] = -1;
  EXPECT_TRUE(verify(s, prove(s, values)).ok());
  for (const int64_t bad : {int64_t{128}, int64_t{-129}, INT64_MAX, INT64_MIN}) {
    values[31] = bad;
    const Result<Proof> refused = prove_range(s, values, generators(), pool_);
    ASSERT_FALSE(refused.ok());
    EXPECT_NE(refused.error().message.find("31"), std::string::npos);
  }
}

}  // namespace
}  // namespace zkapex
