// From Fisher information to a store: block after block in parallel, going on where an earlier run stopped.
#pragma once

#include <functional>

#include "base/threads.h"
#include "curvature/store.h"
#include "weights/checkpoint.h"
#include "weights/layout.h"

namespace zkapex {

// Makes the factor of one Fisher block with the given maker. Called from any thread.
using FisherSource =
    std::function<Result<FactorStatistics>(uint64_t block, FactorMaker& maker, std::span<int16_t> factor)>;

// From a checkpoint that has, under the name of each covered tensor of N weights, either per-sample gradients of shape
// [m, N], or Fisher blocks of shape [blocks, B, B] (the last one padded with anything). It must outlive the source.
[[nodiscard]] Result<FisherSource> checkpoint_fisher(const Layout& layout, const Checkpoint& fisher);

// What became of the blocks made in this run.
struct StoreStatistics {
  uint64_t blocks = 0;
  uint64_t rank_deficient = 0, raised = 0, zero = 0;  // see FactorStatistics
  double largest_condition = 0, mean_log10_condition = 0;
  double largest_damping_ratio = 0;  // damping in effect over damping asked for, the worst block

  void add(const FactorStatistics& block);
};

// Makes the next `count` blocks of the store, which lacks so many, and counts them. `progress` hears of every batch of
// blocks that is on disk.
Status append_blocks(StoreWriter& writer, const FactorSettings& settings, const FisherSource& source, uint64_t count,
                     ThreadPool& pool, StoreStatistics& statistics,
                     const std::function<void(uint64_t blocks)>& progress);

// All blocks that the store lacks, and finishes it.
Result<StoreStatistics> build_store(StoreWriter& writer, const FactorSettings& settings, const FisherSource& source,
                                    ThreadPool& pool, const std::function<void(uint64_t blocks)>& progress);

}  // namespace zkapex
