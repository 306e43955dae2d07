// Late shifts: a prover of a false statement waits until it has seen every challenge and then moves one thing it has
// already sent or committed to, by just as much as the final equation is short of. It works for anything that a
// challenge does not depend on; so each test here fails if the absorption of its message is dropped.
#include <gtest/gtest.h>

#include "argument/dishonest.h"

namespace zkapex {
namespace {

using namespace testing;  // NOLINT: test helpers

class LateShift : public ::testing::Test {
 protected:
  DishonestProver false_range() { return false_proof(relation(RangeStatement{"late", 8, 2, {2}}), pool_); }
  DishonestProver false_matrix() { return false_proof(relation(MatrixStatement{"late", 16, 4, 4}), pool_); }
  DishonestProver false_layer() { return false_proof(relation(layer_.statement), pool_, open_operands(layer_)); }

  // Opens a row to what the final equation is short of. It may occur in several pairs.
  static void shift_row(DishonestProver& p, size_t row) {
    const OpeningClaim claim = p.claim();
    Scalar weight;
    for (const auto& [index, coefficient] : claim.commitment) {
      if (index == row) weight += coefficient;
    }
    p.rows[row].vector[3] += p.error() * claim.pad_weight * (weight * claim.vector[3]).inverse();
  }

  static void expect_false(DishonestProver& p) {
    const Verdict verdict = p.hand_in();
    ASSERT_FALSE(verdict.ok());
    EXPECT_EQ(verdict.error().reason, Reason::kEquation) << verdict.error().detail;
  }

  ThreadPool pool_{1};
  std::mt19937_64 rng_{42};
  const LayerInstance layer_ = random_instance(LayerStatement{"late", 2, 1, 1, 1, 7, 1, {}}, rng_, pool_);
};

TEST_F(LateShift, OfASealedScalarOfTheRangeRelation) {
  DishonestProver start = false_range();
  for (size_t k = 0; k < start.proof.forks[0].size(); ++k) {
    DishonestProver p = start;
    late_shift(p, p.proof.forks[0][k]);
    expect_false(p);
  }
}

TEST_F(LateShift, OfASealedScalarOfTheMatrixRelation) {
  DishonestProver start = false_matrix();
  for (size_t k = 0; k < start.proof.forks[0].size(); ++k) {
    DishonestProver p = start;
    late_shift(p, p.proof.forks[0][k]);
    expect_false(p);
  }
}

TEST_F(LateShift, OfASealedScalarOfTheLayerRelation) {
  DishonestProver start = false_layer();
  for (size_t fork = 0; fork < start.proof.forks.size(); ++fork) {
    for (size_t k = 0; k < start.proof.forks[fork].size(); ++k) {
      DishonestProver p = start;
      late_shift(p, p.proof.forks[fork][k]);
      expect_false(p);
    }
  }
}

TEST_F(LateShift, OfASealedScalarOfTheMainTranscript) {
  DishonestProver start = false_range();
  for (size_t k = 0; k < start.proof.main.size(); ++k) {
    DishonestProver p = start;
    late_shift(p, p.proof.main[k]);
    expect_false(p);
  }
}

TEST_F(LateShift, OfAMaskedFactor) {
  for (const size_t k : {0U, 1U}) {
    DishonestProver p = false_range();
    late_shift(p, p.proof.masked_factors[k]);
    expect_false(p);
  }
}

TEST_F(LateShift, OfAPad) {
  for (DishonestProver p : {false_range(), false_matrix(), false_layer()}) {
    const size_t position = p.shape().row_length;
    p.pads.vector[position] += p.error() * p.claim().vector[position].inverse();
    p.proof.pads = p.pads.encode(pool_);
    expect_false(p);
  }
}

TEST_F(LateShift, OfARow) {
  for (DishonestProver p : {false_range(), false_matrix(), false_layer()}) {
    shift_row(p, 0);
    p.proof.rows[0] = p.rows[0].encode(pool_);
    expect_false(p);
  }
}

// The operands are the prover's own choice too, though the statement brings them.
TEST_F(LateShift, OfAnOperand) {
  for (size_t operand = 0; operand < layer_.statement.operands.size(); ++operand) {
    DishonestProver p = false_layer();
    const size_t row = p.shape().rows + operand;
    shift_row(p, row);
    LayerStatement statement = layer_.statement;
    statement.operands[operand] = p.rows[row].encode(pool_);
    DishonestProver late(relation(statement), 1, pool_);
    late.proof = p.proof;
    late.rows = p.rows;
    late.pads = p.pads;
    expect_false(late);
  }
}

}  // namespace
}  // namespace zkapex
