// See argument/attacks/late_shift_test.cpp.
#include <gtest/gtest.h>

#include "costs/layer_testing.h"

namespace zkapex {
namespace {

using namespace testing;  // NOLINT: test helpers

class LayerLateShift : public ::testing::Test {
 protected:
  DishonestProver false_layer() { return false_proof(relation(layer_.statement), pool_, open_operands(layer_)); }

  ThreadPool pool_{1};
  std::mt19937_64 rng_{42};
  const LayerInstance layer_ = random_instance(LayerStatement{"late", 2, 1, 1, 1, 7, 1, {}}, rng_, pool_);
};

TEST_F(LayerLateShift, OfASealedScalar) {
  DishonestProver start = false_layer();
  for (size_t fork = 0; fork < start.proof.forks.size(); ++fork) {
    for (size_t k = 0; k < start.proof.forks[fork].size(); ++k) {
      DishonestProver p = start;
      late_shift(p, p.proof.forks[fork][k]);
      expect_false(p.hand_in());
    }
  }
}

TEST_F(LayerLateShift, OfAPad) {
  DishonestProver p = false_layer();
  late_shift_of_pad(p, pool_);
  expect_false(p.hand_in());
}

TEST_F(LayerLateShift, OfARow) {
  DishonestProver p = false_layer();
  p.proof.rows[0] = late_shift_of_row(p, 0, pool_);
  expect_false(p.hand_in());
}

// The operands are the prover's own choice too, though the statement brings them.
TEST_F(LayerLateShift, OfAnOperand) {
  for (size_t operand = 0; operand < layer_.statement.operands.size(); ++operand) {
    DishonestProver p = false_layer();
    LayerStatement statement = layer_.statement;
    statement.operands[operand] = late_shift_of_row(p, p.shape().rows + operand, pool_);
    DishonestProver late(relation(statement), 1, pool_);
    late.proof = p.proof;
    late.rows = p.rows;
    late.pads = p.pads;
    expect_false(late.hand_in());
  }
}

}  // namespace
}  // namespace zkapex
