// From gradients to the curvature store: Fisher blocks at the personal weights, factored as they are finished.
#pragma once

#include <filesystem>
#include <functional>

#include "base/threads.h"
#include "curvature/build.h"
#include "learning/fisher.h"
#include "unlearning/deployment.h"

namespace zkapex {

struct FisherStoreOptions {
  Damping damping;
  int64_t memory = int64_t{4} << 30;
  int64_t pending = 64;
  std::string run;         // what decides the factors, as for StoreWriter::open
  bool overwrite = false;  // as there
};

struct FisherStoreReport {
  BlockFisherReport fisher;
  uint64_t resumed_at = 0;  // blocks that an earlier run had made
  StoreStatistics factors;  // of the blocks made now
};

// Writes the store of `deployment` for `model` (which must have its tensors), block after block; a second one of the
// same `run` goes on where the first was stopped. `advance` is told how many blocks are done, from the calling thread.
[[nodiscard]] Result<FisherStoreReport> write_fisher_store(Model& model, const BatchSource& batches,
                                                           const Deployment& deployment,
                                                           const FisherStoreOptions& options,
                                                           const std::filesystem::path& path, ThreadPool& pool,
                                                           const std::function<void(uint64_t)>& advance = {});

}  // namespace zkapex
