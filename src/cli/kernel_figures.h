// The kernels that proofs are made of, each timed next to a baseline: libsodium where it has the operation, else the
// portable path. One thread; inputs are random, of a fixed seed, and none is zero.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/bench.h"

namespace zkapex::cli {

struct KernelBench {
  std::string name;
  Result<KernelFigure> (*measure)(const std::string& name, const Effort& effort);
};

[[nodiscard]] const std::vector<KernelBench>& kernel_benches();

}  // namespace zkapex::cli
