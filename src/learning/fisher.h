// Empirical Fisher information of covered weights: F = (1/m) Σ_s g_s g_sᵀ over the samples' own gradients, its
// diagonal, and its diagonal blocks over consecutive runs of B entries of a row-major flattened weight.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "learning/sample_gradients.h"

namespace zkapex {

// Batches, one after another; the same on every round. The callback may stop the walk by an error.
using BatchVisitor = std::function<Status(const Batch&)>;
using BatchSource = std::function<Status(const BatchVisitor&)>;

struct DiagonalFisher {
  std::vector<Tensor> gradient;  // mean gradient, like each covered weight
  std::vector<Tensor> diagonal;  // mean squared gradient
  int64_t samples = 0;
};
[[nodiscard]] Result<DiagonalFisher> diagonal_fisher(const Model& model, const BatchSource& batches,
                                                     const std::vector<std::string>& covered);

// Blocks first .. first + values.size(0) - 1 of covered weight `layer`, each a symmetric [B, B] matrix of float. The
// last block of a weight is padded by zeros.
struct FisherSlice {
  size_t layer;
  int64_t first;
  Tensor values;  // [blocks, B, B] on the CPU
};
using FisherSink = std::function<Status(const FisherSlice&)>;

struct BlockFisherOptions {
  int64_t block = 256;
  int64_t memory = int64_t{4} << 30;  // bytes for blocks and the gradients that wait to be added
  int64_t pending = 64;               // samples whose gradients are added to the blocks at once
  int64_t skip = 0;                   // blocks at the beginning that are there already
};

struct FisherPass {
  size_t layer;
  int64_t first, count;  // blocks
};
// Which blocks are accumulated together: passes over the data, each within the memory given. An error when not even
// one block fits.
[[nodiscard]] Result<std::vector<std::vector<FisherPass>>> plan_block_fisher(const std::vector<int64_t>& weight_sizes,
                                                                             const BlockFisherOptions& options);

struct BlockFisherReport {
  int64_t samples = 0, blocks = 0, passes = 0;
  double accumulate_seconds = 0;  // adding gradients to blocks
  double flops = 0;               // of these additions
};
// Each slice goes to the sink once, by increasing layer and block. The model must not change meanwhile.
[[nodiscard]] Result<BlockFisherReport> block_fisher(const Model& model, const BatchSource& batches,
                                                     const std::vector<std::string>& covered,
                                                     const BlockFisherOptions& options, const FisherSink& sink);

}  // namespace zkapex
