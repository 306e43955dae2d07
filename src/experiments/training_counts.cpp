#include "experiments/training_counts.h"

namespace zkapex {

namespace {

// Y = X W for `rows` rows: Y forward, ∂X backward, ∂W once a step.
void add_linear(ProductEntries& out, uint64_t rows, uint64_t inputs, uint64_t outputs) {
  out.forward += rows * outputs;
  out.backward += rows * inputs;
  out.weights += inputs * outputs;
}

}  // namespace

ProductEntries product_entries(const TransformerShape& s) {
  const uint64_t tokens = s.tokens();
  ProductEntries block;
  for (int k = 0; k < 4; ++k) add_linear(block, tokens, s.hidden, s.hidden);  // query, key, value, output
  add_linear(block, tokens, s.hidden, s.intermediate);
  add_linear(block, tokens, s.intermediate, s.hidden);
  // Attention, all heads: scores = Q Kᵀ and O = A V; then ∂A = ∂O Vᵀ, ∂V = Aᵀ ∂O, ∂Q and ∂K.
  const uint64_t scores = s.heads * tokens * tokens, values = tokens * s.hidden;
  block.forward += scores + values;
  block.backward += scores + 3 * values;

  ProductEntries out{s.layers * block.forward, s.layers * block.backward, s.layers * block.weights};
  out.forward += s.patches * s.hidden;  // nothing is asked of the gradient by the pixels
  out.weights += s.patch_inputs * s.hidden;
  add_linear(out, 1, s.hidden, s.classes);
  return out;
}

}  // namespace zkapex
