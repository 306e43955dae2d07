#include "experiments/training_counts.h"

#include <gtest/gtest.h>

namespace zkapex {
namespace {

// Counted by hand: one block, one head, two patches and the class token of width 4, 8 hidden units, 3 classes.
TEST(TrainingCounts, OfATinyTransformer) {
  const ProductEntries e = product_entries(
      {.layers = 1, .hidden = 4, .intermediate = 8, .heads = 1, .patches = 2, .patch_inputs = 5, .classes = 3});
  EXPECT_EQ(e.forward, 4 * 3 * 4 + 3 * 8 + 3 * 4 + 3 * 3 + 3 * 4 + 2 * 4 + 3U);
  EXPECT_EQ(e.backward, 4 * 3 * 4 + 3 * 4 + 3 * 8 + 3 * 3 + 3 * 3 * 4 + 4U);
  EXPECT_EQ(e.weights, 4 * 4 * 4 + 2 * 4 * 8 + 5 * 4 + 4 * 3U);
  EXPECT_EQ(e.training(10, 2),
            10.0 * static_cast<double>(e.forward + e.backward) + 2.0 * static_cast<double>(e.weights));
}

TEST(TrainingCounts, OfVitB16) {
  const ProductEntries e = product_entries({});
  EXPECT_EQ(e.forward + e.backward, 51271432U);
  EXPECT_EQ(e.weights, 86292480U);
}

}  // namespace
}  // namespace zkapex
