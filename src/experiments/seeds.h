// What random numbers of an experiment are for: each use has a seed of its own, derived from the experiment's.
#pragma once

#include <cstdint>

namespace zkapex {

enum SeedUse : uint64_t {
  kInitial = 1,
  kTraining = 2,
  kPersonal = 10,
  kBranches = 11,
  kSaliency = 300,
  kRetained = 301,
  kFisher = 400,
  kMembership = 500,
  kBaseline = 600,
  kRehearsal = 700,
  kNoise = 701,
  kOwnRehearsal = 702,
  kPreparation = 703,
  kRelearning = 800
};

}  // namespace zkapex
