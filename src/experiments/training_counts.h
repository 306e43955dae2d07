// How many numbers one step of training computes by matrix products: what a proof of the step would have to commit to,
// range-check and tie together. Softmax, activations, norms, the loss and the optimizer are not counted.
#pragma once

#include <cstdint>

namespace zkapex {

// A ViT image classifier.
struct TransformerShape {
  uint64_t layers = 12, hidden = 768, intermediate = 3072, heads = 12;
  uint64_t patches = 196, patch_inputs = 768, classes = 1000;

  [[nodiscard]] uint64_t tokens() const { return patches + 1; }
};

// Entries of the results of all matrix products.
struct ProductEntries {
  uint64_t forward = 0;   // for one sample
  uint64_t backward = 0;  // for one sample: gradients by the inputs of layers and products
  uint64_t weights = 0;   // for one step, however many samples it has: gradients by weights

  // Of training on `samples` in `steps` steps.
  [[nodiscard]] double training(double samples, double steps) const {
    return samples * static_cast<double>(forward + backward) + steps * static_cast<double>(weights);
  }
};
[[nodiscard]] ProductEntries product_entries(const TransformerShape& shape);

}  // namespace zkapex
