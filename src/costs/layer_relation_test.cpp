#include "costs/layer_relation.h"

#include <gtest/gtest.h>

#include "costs/layer_testing.h"

namespace zkapex {
namespace {

using namespace testing;  // NOLINT: test helpers

LayerStatement statement(size_t side, size_t tokens, size_t inputs, size_t outputs, unsigned bits = 12,
                         unsigned shift = 4) {
  return {"t", side, tokens, inputs, outputs, bits, shift, {}};
}

class LayerTest : public ::testing::Test {
 protected:
  LayerInstance instance(const LayerStatement& s) { return random_instance(s, rng_, pool_); }
  Verdict verify(const LayerStatement& s, ByteView proof) {
    return zkapex::verify(LayerRelation(s), proof, test_generators(), pool_);
  }

  std::mt19937_64 rng_{6};
  ThreadPool pool_{2};
};

TEST_F(LayerTest, HonestProofsOfEveryShapeAreAccepted) {
  for (const LayerStatement& s :
       {statement(1, 1, 1, 1), statement(1, 3, 2, 5), statement(2, 1, 1, 1), statement(4, 1, 2, 3),
        statement(4, 3, 1, 2), statement(8, 2, 3, 1), statement(8, 1, 1, 1, 16, 24), statement(4, 2, 2, 2, 13, 1)}) {
    const LayerInstance layer = instance(s);
    const Result<Proof> proof = prove_layer(layer.statement, layer.values(), test_generators(), pool_);
    ASSERT_TRUE(proof.ok()) << proof.error().message;
    const Bytes bytes = proof->encode();
    EXPECT_EQ(bytes.size(), layer.statement.shape().bytes());
    const Verdict verdict = verify(layer.statement, bytes);
    EXPECT_TRUE(verdict.ok()) << (verdict ? "" : verdict.error().detail);
  }
}

// Against a product computed index by index, transposes and all.
TEST_F(LayerTest, AccumulatorsAreTheThreeProducts) {
  const LayerStatement s = statement(4, 2, 1, 3);
  const LayerInstance layer = instance(s);
  const auto at = [](const TileGrid& grid, const auto& tiles, size_t i, size_t j) -> int64_t {
    return tiles[((i / grid.side * grid.cols + j / grid.side) * grid.side + i % grid.side) * grid.side + j % grid.side];
  };
  const size_t tokens = 8, inputs = 4, outputs = 12;
  const auto expect = [&](LayerProduct which, size_t i, size_t j, int64_t product) {
    const auto& tiles = layer.accumulators[static_cast<size_t>(which)];
    EXPECT_EQ(at(s.result(which), tiles, i, j), product + 8) << static_cast<size_t>(which) << " " << i << " " << j;
  };
  for (size_t t = 0; t < tokens; ++t) {
    for (size_t o = 0; o < outputs; ++o) {
      int64_t y = 0;
      for (size_t i = 0; i < inputs; ++i) y += at(s.x(), layer.x, t, i) * at(s.w(), layer.w, i, o);
      expect(LayerProduct::kForward, t, o, y);
    }
    for (size_t i = 0; i < inputs; ++i) {
      int64_t dx = 0;
      for (size_t o = 0; o < outputs; ++o) dx += at(s.g(), layer.g, t, o) * at(s.w(), layer.w, i, o);
      expect(LayerProduct::kInputGradient, t, i, dx);
    }
  }
  for (size_t i = 0; i < inputs; ++i) {
    for (size_t o = 0; o < outputs; ++o) {
      int64_t dw = 0;
      for (size_t t = 0; t < tokens; ++t) dw += at(s.x(), layer.x, t, i) * at(s.g(), layer.g, t, o);
      expect(LayerProduct::kWeightGradient, i, o, dw);
    }
  }
}

TEST_F(LayerTest, AProductThatDoesNotFitIsAnError) {
  LayerInstance layer = instance(statement(4, 1, 1, 1, 6, 4));
  std::ranges::fill(layer.x, int16_t{300});
  const auto result = layer_accumulators(layer.statement, layer.operands(), pool_);
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().message.find("10 bits"), std::string::npos) << result.error().message;
}

TEST_F(LayerTest, TheProverRefusesWrongProducts) {
  for (size_t k = 0; k < kLayerProducts; ++k) {
    LayerInstance layer = instance(statement(4, 1, 2, 1));
    layer.accumulators[k][5] += 1;
    EXPECT_FALSE(prove_layer(layer.statement, layer.values(), test_generators(), pool_).ok());
  }
}

TEST_F(LayerTest, TheProverRefusesWitnessesThatDoNotFit) {
  LayerInstance layer = instance(statement(4, 1, 2, 1));
  layer.accumulators[1].pop_back();
  EXPECT_FALSE(prove_layer(layer.statement, layer.values(), test_generators(), pool_).ok());
}

// The products are right, so every equation of the prover's own holds; but the bits of P are not all committed to.
TEST_F(LayerTest, TheProverRefusesProductsOfTooManyBits) {
  LayerInstance layer = instance(statement(4, 1, 2, 1));
  layer.statement.bits = 2;
  const Result<Proof> proof = prove_layer(layer.statement, layer.values(), test_generators(), pool_);
  ASSERT_FALSE(proof.ok());
  EXPECT_NE(proof.error().message.find("more than 6 bits"), std::string::npos) << proof.error().message;
}

TEST_F(LayerTest, ProofsOfAnotherStatementAreRejected) {
  const LayerInstance layer = instance(statement(4, 2, 2, 1)), other = instance(statement(4, 2, 2, 1));
  const Bytes proof = prove_layer(layer.statement, layer.values(), test_generators(), pool_).value().encode();
  const auto rejected = [&](const LayerStatement& s, std::initializer_list<Reason> reasons) {
    const Verdict verdict = verify(s, proof);
    ASSERT_FALSE(verdict.ok());
    EXPECT_NE(std::ranges::find(reasons, verdict.error().reason), reasons.end()) << verdict.error().detail;
  };
  LayerStatement s = layer.statement;
  s.context = "another";
  rejected(s, {Reason::kEquation});
  s = layer.statement;
  s.operands = other.statement.operands;
  rejected(s, {Reason::kEquation});
  for (const auto& [a, b] : {std::pair{0, 1}, {0, 4}, {5, 7}}) {  // inside X, between X and W, between W and G
    s = layer.statement;
    std::swap(s.operands[static_cast<size_t>(a)], s.operands[static_cast<size_t>(b)]);
    rejected(s, {Reason::kEquation});
  }
  s = layer.statement;  // another rounding of as many bits
  s.bits += 1;
  s.shift -= 1;
  rejected(s, {Reason::kEquation});
  s = layer.statement;  // another form of as many tiles
  std::swap(s.tokens, s.outputs);
  rejected(s, {Reason::kLength, Reason::kEquation, Reason::kScalar});
}

// Whatever names the statement changes the first challenge.
TEST_F(LayerTest, EveryFieldIsAbsorbed) {
  const LayerInstance layer = instance(statement(4, 1, 1, 1));
  const auto first = [&](const LayerStatement& s) {
    return begin(LayerRelation(s), layer.statement.operands, layer.statement.operands[0]).challenge("first");
  };
  const Scalar honest = first(layer.statement);
  const std::vector<std::function<void(LayerStatement&)>> changes = {
      [](LayerStatement& s) { s.context = ""; }, [](LayerStatement& s) { s.side = 8; },
      [](LayerStatement& s) { s.tokens = 2; },   [](LayerStatement& s) { s.inputs = 2; },
      [](LayerStatement& s) { s.outputs = 2; },  [](LayerStatement& s) { s.bits += 1; },
      [](LayerStatement& s) { s.shift += 1; },   [](LayerStatement& s) { std::swap(s.operands[0], s.operands[1]); }};
  for (size_t k = 0; k < changes.size(); ++k) {
    LayerStatement s = layer.statement;
    changes[k](s);
    EXPECT_NE(honest, first(s)) << k;
  }
}

TEST_F(LayerTest, MalformedProofsAreRejected) {
  const LayerInstance layer = instance(statement(2, 1, 1, 1, 4, 4));
  const Proof proof = prove_layer(layer.statement, layer.values(), test_generators(), pool_).value();
  const Bytes bytes = proof.encode();
  const auto reason = [&](const Bytes& changed) {
    const Verdict verdict = verify(layer.statement, changed);
    return verdict ? std::nullopt : std::optional(verdict.error().reason);
  };
  for (const size_t length : {size_t{0}, bytes.size() - 1, bytes.size() + 1}) {
    Bytes changed = bytes;
    changed.resize(length);
    EXPECT_EQ(reason(changed), Reason::kLength);
  }
  for (size_t k = 0; k < bytes.size(); k += 29) {
    Bytes changed = bytes;
    changed[k] ^= 1;
    EXPECT_TRUE(reason(changed)) << k;
  }
  Proof stray = proof;
  stray.rows[3] = EncodedPoint{};  // the identity
  EXPECT_EQ(reason(stray.encode()), Reason::kPoint);
  LayerStatement s = layer.statement;
  s.operands[0] = EncodedPoint{};
  const Verdict verdict = verify(s, bytes);
  ASSERT_FALSE(verdict.ok());
  EXPECT_EQ(verdict.error().reason, Reason::kPoint);
}

TEST_F(LayerTest, StatementsOutsideTheSupportedSetAreRefused) {
  const LayerInstance layer = instance(statement(4, 1, 1, 1));
  const auto refused = [&](auto change) {
    LayerStatement s = layer.statement;
    change(s);
    const auto verdict = check(LayerRelation(s), Bytes{}, pool_);
    ASSERT_FALSE(verdict.ok());
    EXPECT_EQ(verdict.error().reason, Reason::kStatement) << verdict.error().detail;
    EXPECT_FALSE(prove_layer(s, layer.values(), test_generators(), pool_).ok());
  };
  for (const size_t side : {size_t{0}, size_t{3}, size_t{1} << 13, size_t{1} << 32})
    refused([&](LayerStatement& s) { s.side = side; });
  for (const auto side : {&LayerStatement::tokens, &LayerStatement::inputs, &LayerStatement::outputs}) {
    const auto resize = [&](LayerStatement& s, size_t tiles) {
      s.*side = tiles;
      s.operands.resize(1 + 2 * tiles);  // as many as there must be, mod 2^64
    };
    for (const size_t tiles : {size_t{0}, size_t{4097}, size_t{1} << 63})
      refused([&](LayerStatement& s) { resize(s, tiles); });
    LayerStatement largest = layer.statement;
    resize(largest, 4096);
    EXPECT_TRUE(largest.sound().ok());
  }
  for (const unsigned bits : {0U, 1U, 17U}) refused([&](LayerStatement& s) { s.bits = bits; });
  for (const unsigned shift : {0U, 25U}) refused([&](LayerStatement& s) { s.shift = shift; });
  refused([](LayerStatement& s) { s.operands.pop_back(); });
  refused([](LayerStatement& s) { s.operands.push_back(s.operands[0]); });
  refused([](LayerStatement& s) { s.tokens = 2; });  // operands for one
}

}  // namespace
}  // namespace zkapex
