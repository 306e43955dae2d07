// See argument/attacks/zero_knowledge_test.cpp.
#include <gtest/gtest.h>

#include "argument/attacks/simulator_testing.h"
#include "costs/layer_testing.h"

namespace zkapex {
namespace {

using namespace testing;  // NOLINT: test helpers

class LayerZeroKnowledge : public ::testing::Test {
 protected:
  Proof prove(const LayerInstance& layer) {
    return prove_layer(layer.statement, layer.values(), test_generators(), pool_).value();
  }

  const LayerStatement layer_{"zero knowledge", 2, 1, 3, 2, 9, 1, {}};
  ThreadPool pool_{1};
  std::mt19937_64 rng_{133};
};

TEST_F(LayerZeroKnowledge, ProofsOfTwoWitnessesShareNothing) {
  const LayerInstance a = random_instance(layer_, rng_, pool_), b = random_instance(layer_, rng_, pool_);
  expect_nothing_shared({prove(a), prove(b), prove(a)});
}

// All but P is zero, which is one half, and its bits.
TEST_F(LayerZeroKnowledge, EveryScalarHasAPadOfItsOwn) {
  const LayerInstance zero = instance_of(
      layer_, [] { return int16_t{0}; }, pool_);
  expect_nothing_shared({prove(zero), prove(zero)});
}

TEST_F(LayerZeroKnowledge, TheSimulatorNeedsNoWitness) {
  expect_simulated(LayerRelation(random_instance(layer_, rng_, pool_).statement), rng_, pool_);
}

}  // namespace
}  // namespace zkapex
