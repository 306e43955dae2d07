#include "learning/block_products.h"

#include <gtest/gtest.h>

#include "learning/tensor_testing.h"
#include "learning/torch.h"

namespace zkapex {
namespace {

// Both ways against Σ_s g_s g_sᵀ written out, where sums are there already and where k is smaller, equal and larger
// than a block.
TEST(BlockProducts, BothWaysAddOuterProducts) {
  at::manual_seed(1);
  for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
    for (const int64_t samples : {1, 5, 16, 40}) {
      const int64_t blocks = 7, block = 16;
      const Tensor gradients = at::randn({blocks, samples, block}, type);
      const Tensor start = at::randn({blocks, block, block}, type);
      const Tensor expected = start + (gradients.unsqueeze(3) * gradients.unsqueeze(2)).sum(1);
      const Tensor chosen = start.clone(), batched = start.clone();
      add_block_products(chosen, gradients);
      add_block_products_batched(batched, gradients);
      const double tolerance = type == at::kFloat ? 1e-6 : 1e-14;
      EXPECT_LT(relative_difference(chosen.tril(), expected.tril()), tolerance);
      EXPECT_LT(relative_difference(batched.tril(), expected.tril()), tolerance);
    }
  }
}

// The accumulator hands over the first rows of a buffer that is not full.
TEST(BlockProducts, TakesTheFirstRowsOfALargerBuffer) {
  at::manual_seed(2);
  const Tensor buffer = at::randn({2, 8, 16}), rows = buffer.narrow(1, 0, 3);
  const Tensor chosen = at::zeros({2, 16, 16}), batched = at::zeros({2, 16, 16});
  add_block_products(chosen, rows);
  add_block_products_batched(batched, rows);
  const Tensor expected = (rows.unsqueeze(3) * rows.unsqueeze(2)).sum(1);
  EXPECT_LT(relative_difference(chosen.tril(), expected.tril()), 1e-6);
  EXPECT_LT(relative_difference(batched.tril(), expected.tril()), 1e-6);
}

TEST(BlockProducts, BothWaysMultiplyVectors) {
  at::manual_seed(3);
  for (const int64_t block : {1, 20, 256}) {
    const Tensor half = at::randn({5, block, block}), vectors = at::randn({5, block});
    const Tensor matrices = half + half.transpose(1, 2);
    const Tensor expected = (matrices.to(at::kDouble) * vectors.to(at::kDouble).unsqueeze(1)).sum(2);
    EXPECT_LT(relative_difference(symmetric_products(matrices, vectors).to(at::kDouble), expected), 1e-6);
    EXPECT_LT(relative_difference(symmetric_products_batched(matrices, vectors).to(at::kDouble), expected), 1e-6);
  }
}

}  // namespace
}  // namespace zkapex
