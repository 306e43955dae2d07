// The gradient of each sample's own loss with respect to the weights of linear maps, from one backward pass per batch.
//
// For y = x Wᵀ the gradient of sample s is Σ_t g_stᵀ x_st over its tokens t, where g is the gradient of the output:
// the input is kept from the forward pass, the output's gradient comes from a hook.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "learning/model.h"

namespace zkapex {

// One covered weight W [out, in] after the backward pass of a batch of n samples.
struct LayerTrace {
  size_t layer;    // which of the covered weights
  Tensor inputs;   // x [n, t, in]
  Tensor outputs;  // gradient of the sum of the losses by the output, g [n, t, out]

  // Σ_s of the samples' gradients: the batch gradient, [out, in].
  [[nodiscard]] Tensor sum() const;
  // Gradients of the samples first .. first + count - 1 for the rows row .. row + rows - 1: [count, rows, in].
  [[nodiscard]] Tensor samples(int64_t first, int64_t count, int64_t row, int64_t rows) const;
};

// Called once per covered weight and batch, during the backward pass (the last layer first); what it does not keep is
// freed before the next call.
using TraceVisitor = std::function<void(const LayerTrace&)>;

// Returns the samples' losses [n]. `covered` are names of weights of linear maps of the model's blocks. No gradient is
// stored in any parameter.
Tensor trace_batch(const Model& model, const Batch& batch, const std::vector<std::string>& covered,
                   const TraceVisitor& visit);

// The names of `model`'s weights that match the patterns (all matrices of the MLPs when there is none), in the order
// of the model. A pattern that matches nothing, or something else than a linear map of a block, is an error.
[[nodiscard]] Result<std::vector<std::string>> covered_weights(Model& model, const std::vector<std::string>& patterns);

}  // namespace zkapex
