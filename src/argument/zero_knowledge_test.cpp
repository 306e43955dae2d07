#include <gtest/gtest.h>

#include <set>

#include "argument/simulator.h"

namespace zkapex {
namespace {

using namespace testing;  // NOLINT: test helpers

class ZeroKnowledge : public ::testing::Test {
 protected:
  using Word = std::array<uint8_t, 32>;

  const RangeStatement range_{"zero knowledge", 8, 4, {2, 1}};
  const MatrixStatement matrix_{"zero knowledge", 16, 4, 4};
  const LayerStatement layer_{"zero knowledge", 2, 1, 3, 2, 9, 1, {}};

  Proof prove(std::span<const int64_t> values) { return prove_range(range_, values, test_generators(), pool_).value(); }
  Proof prove(const MatrixInstance& instance) {
    return prove_matrix(matrix_, instance.values(), test_generators(), pool_).value();
  }
  Proof prove(const LayerInstance& layer) {
    return prove_layer(layer.statement, layer.values(), test_generators(), pool_).value();
  }
  [[nodiscard]] MatrixInstance zero_matrix() const {
    const size_t side = matrix_.side, blocks = matrix_.blocks;
    return {std::vector<int8_t>(blocks * side * side), std::vector<int64_t>(blocks * side),
            std::vector<int64_t>(blocks * side)};
  }

  // All scalars of a proof; those that are sent masked come first.
  static std::vector<Word> masked_scalars(const Proof& proof) {
    std::vector<Word> out;
    const auto add = [&](std::span<const Scalar> scalars) {
      for (const Scalar& s : scalars) out.push_back(s.to_bytes());
    };
    for (const auto& fork : proof.forks) add(fork);
    add(proof.main);
    add(proof.masked_factors);
    add({{proof.opening.mask_value, proof.opening.blinding, proof.opening.last}});
    return out;
  }
  static std::vector<Word> words(const Proof& proof) {
    std::vector<Word> out = masked_scalars(proof);
    out.insert(out.end(), proof.rows.begin(), proof.rows.end());
    out.push_back(proof.pads);
    out.push_back(proof.opening.mask);
    out.insert(out.end(), proof.opening.left.begin(), proof.opening.left.end());
    out.insert(out.end(), proof.opening.right.begin(), proof.opening.right.end());
    return out;
  }
  static void expect_nothing_shared(const std::vector<Proof>& proofs) {
    std::set<Word> all;
    size_t count = 0;
    for (const Proof& proof : proofs) {
      for (const Word& w : words(proof)) {
        EXPECT_NE(w, Word{});
        all.insert(w);
        ++count;
      }
    }
    EXPECT_EQ(all.size(), count);
  }

  ThreadPool pool_{1};
};

TEST_F(ZeroKnowledge, ProofsOfTwoWitnessesShareNothing) {
  std::mt19937_64 rng(131);
  const std::vector<int64_t> one = random_values(range_, rng), two = random_values(range_, rng);
  expect_nothing_shared({prove(one), prove(two), prove(one)});
  const MatrixInstance a = random_instance(matrix_, rng), b = random_instance(matrix_, rng);
  expect_nothing_shared({prove(a), prove(b), prove(a)});
  const LayerInstance c = random_instance(layer_, rng, pool_), d = random_instance(layer_, rng, pool_);
  expect_nothing_shared({prove(c), prove(d), prove(c)});
}

// With a witness of zeros every value under a seal is zero: what is sent are the pads and masks themselves. None is
// missing, none is used twice. (Of a layer all but P is zero, which is one half, and its bits.)
TEST_F(ZeroKnowledge, EveryScalarHasAPadOfItsOwn) {
  const std::vector<int64_t> zeros(range_.rows() * range_.row_length);
  expect_nothing_shared({prove(zeros), prove(zeros)});
  expect_nothing_shared({prove(zero_matrix()), prove(zero_matrix())});
  const LayerInstance zero_layer = instance_of(
      layer_, [] { return int16_t{0}; }, pool_);
  expect_nothing_shared({prove(zero_layer), prove(zero_layer)});
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
  const LayerStatement layer = random_instance(layer_, rng, pool_).statement;
  for (const AnyRelation& of :
       {relation(range_), relation(matrix_), relation(layer), relation(RangeStatement{"", 1, 1, {1}})}) {
    for (const uint64_t challenges : {1U, 2U}) {
      const Proof proof = simulate(*of, challenges, rng);
      const Bytes bytes = proof.encode();
      EXPECT_EQ(bytes.size(), of->shape().bytes());
      ProgrammedOracle oracle(challenges), others(challenges + 1);
      const Verdict verdict = verify_with(*of, bytes, pool_, &oracle);
      EXPECT_TRUE(verdict.ok()) << (verdict ? "" : verdict.error().detail);
      EXPECT_FALSE(verify_with(*of, bytes, pool_, &others).ok());  // it is not a proof
      EXPECT_FALSE(verify_with(*of, bytes, pool_).ok());
      expect_nothing_shared({proof});
    }
  }
}

}  // namespace
}  // namespace zkapex
