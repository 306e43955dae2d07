// Permutations that are the same everywhere for the same seed.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/int128.h"

namespace zkapex {

// SplitMix64: for choosing samples, never for secrets.
class SampleRandom {
 public:
  explicit SampleRandom(uint64_t seed) : state_(seed) {}

  uint64_t next() {
    uint64_t z = (state_ += 0x9E3779B97F4A7C15ULL);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }
  // Uniform in [0, bound).
  uint64_t below(uint64_t bound) { return static_cast<uint64_t>((static_cast<uint128>(next()) * bound) >> 64); }
  // Uniform in [0, 1).
  double unit() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

 private:
  uint64_t state_;
};

// A seed for one use of many under one seed (an epoch, a step).
inline uint64_t derived_seed(uint64_t seed, uint64_t use) {
  return SampleRandom(seed ^ (use * 0xD1342543DE82EF95ULL)).next();
}

template <class T>
void shuffle(std::vector<T>& items, uint64_t seed) {
  SampleRandom random(seed);
  for (size_t k = items.size(); k > 1; --k) std::swap(items[k - 1], items[random.below(k)]);
}

}  // namespace zkapex
