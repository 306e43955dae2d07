// Late shifts: a prover of a false statement waits until it has seen every challenge and then moves one thing it has
// already sent or committed to, by just as much as the final equation is short of. It works for anything that a
// challenge does not depend on; so each test here fails if the absorption of its message is dropped.
#include <gtest/gtest.h>

#include "argument/attacks/dishonest_testing.h"

namespace zkapex {
namespace {

using namespace testing;  // NOLINT: test helpers

class LateShift : public ::testing::Test {
 protected:
  DishonestProver false_range() { return false_proof(relation(RangeStatement{"late", 8, 2, {2}}), pool_); }
  DishonestProver false_matrix() { return false_proof(relation(MatrixStatement{"late", 16, 4, 4}), pool_); }

  ThreadPool pool_{1};
};

TEST_F(LateShift, OfASealedScalarOfTheRangeRelation) {
  DishonestProver start = false_range();
  for (size_t k = 0; k < start.proof.forks[0].size(); ++k) {
    DishonestProver p = start;
    late_shift(p, p.proof.forks[0][k]);
    expect_false(p.hand_in());
  }
}

TEST_F(LateShift, OfASealedScalarOfTheMatrixRelation) {
  DishonestProver start = false_matrix();
  for (size_t k = 0; k < start.proof.forks[0].size(); ++k) {
    DishonestProver p = start;
    late_shift(p, p.proof.forks[0][k]);
    expect_false(p.hand_in());
  }
}

TEST_F(LateShift, OfASealedScalarOfTheMainTranscript) {
  DishonestProver start = false_range();
  for (size_t k = 0; k < start.proof.main.size(); ++k) {
    DishonestProver p = start;
    late_shift(p, p.proof.main[k]);
    expect_false(p.hand_in());
  }
}

TEST_F(LateShift, OfAMaskedFactor) {
  for (const size_t k : {0U, 1U}) {
    DishonestProver p = false_range();
    late_shift(p, p.proof.masked_factors[k]);
    expect_false(p.hand_in());
  }
}

TEST_F(LateShift, OfAPad) {
  for (DishonestProver p : {false_range(), false_matrix()}) {
    late_shift_of_pad(p, pool_);
    expect_false(p.hand_in());
  }
}

TEST_F(LateShift, OfARow) {
  for (DishonestProver p : {false_range(), false_matrix()}) {
    p.proof.rows[0] = late_shift_of_row(p, 0, pool_);
    expect_false(p.hand_in());
  }
}

}  // namespace
}  // namespace zkapex
