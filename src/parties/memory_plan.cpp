#include "parties/memory_plan.h"

#include <algorithm>
#include <bit>

namespace zkapex {

namespace {

constexpr uint64_t kBytesPerIndex = 125, kOfAGuide = 25;  // of a segment's tables at the worst moment, about
constexpr uint64_t kAlways = 30'000'000;  // program, generators and what else a proof holds all the time, about
constexpr uint64_t kMost = uint64_t{1} << 30;

}  // namespace

uint64_t MemoryPlan::rows_per_segment(bool guided) const {
  const uint64_t left = budget_ - std::min(budget_, kAlways), bytes = kBytesPerIndex + (guided ? kOfAGuide : 0);
  return std::bit_floor(std::clamp<uint64_t>(left / (bytes * row_), 1, kMost));
}

}  // namespace zkapex
