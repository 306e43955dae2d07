// See argument/manifest_test.cpp: docs/argument.md, section 13.
#include <gtest/gtest.h>

#include "argument/manifest_testing.h"
#include "costs/layer_testing.h"

namespace zkapex {
namespace {

using namespace testing;  // NOLINT: test helpers

TEST(Manifest, OfTheLayerRelation) {
  ThreadPool pool(1);
  std::mt19937_64 rng(143);
  // Eight planes, a tile of four entries each.
  const LayerInstance layer = random_instance(LayerStatement{"manifest", 2, 1, 1, 1, 7, 1, {}}, rng, pool);
  const Bytes proof = prove_layer(layer.statement, layer.values(), test_generators(), pool).value().encode();
  Manifest manifest;
  ASSERT_TRUE(verify_with(*relation(layer.statement), proof, pool, &manifest).ok());
  std::string expected =
      "main + protocol\nmain + parameters\nmain + context\nmain + operands\nmain + bit rows\nmain + pads\n";
  for (size_t k = 0; k < kLayerProducts; ++k) {
    const std::string fork = fmt::format("product {}", k);
    expected +=
        fmt::format("{0} > {0}\n", fork) + challenge_events(fork, "tau_k", 3) + challenge_events(fork, "tau", 2);
    expected += round_events(fork, "bits", 2) + fork + " + rest\n" + round_events(fork, "planes", 3);
    expected += fork + " + b, b^2\n" + challenge_events(fork, "row", 1) + challenge_events(fork, "column", 1);
    expected += fork + " + P\n" + round_events(fork, "product", 1) + fork + " + a, b, ab\n";
  }
  EXPECT_EQ(manifest_text(manifest), expected + reduction_events(layer.statement.shape()));
}

}  // namespace
}  // namespace zkapex
