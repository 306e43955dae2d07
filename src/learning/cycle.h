// Batches of a set, by number and without end.
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include "data/shuffle.h"
#include "learning/dataset.h"

namespace zkapex {

// In an order of its own per epoch. The samples outlive it.
class Cycle {
 public:
  Cycle(const Samples& samples, int64_t batch, uint64_t seed) : samples_(samples), batch_(batch), seed_(seed) {}

  [[nodiscard]] int64_t batches_per_epoch() const { return (samples_.size() + batch_ - 1) / batch_; }

  Result<Batch> at(int64_t number) {
    const int64_t epoch = number / batches_per_epoch(), first = number % batches_per_epoch() * batch_;
    if (epoch != epoch_) {
      order_.resize(static_cast<size_t>(samples_.size()));
      std::iota(order_.begin(), order_.end(), int64_t{0});
      shuffle(order_, derived_seed(seed_, static_cast<uint64_t>(epoch)));
      epoch_ = epoch;
    }
    const int64_t count = std::min(batch_, samples_.size() - first);
    return samples_.batch({&order_[static_cast<size_t>(first)], static_cast<size_t>(count)});
  }

 private:
  const Samples& samples_;
  int64_t batch_, epoch_ = -1;
  uint64_t seed_;
  std::vector<int64_t> order_;
};

}  // namespace zkapex
