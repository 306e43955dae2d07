// Inputs for tests of the group, reproducible from a seed.
#pragma once

#include <array>
#include <cstdint>
#include <random>
#include <vector>

#include "algebra/group_kernels.h"
#include "algebra/point.h"
#include "algebra/scalar.h"

namespace zkapex::testing {

template <size_t N>
std::array<uint8_t, N> random_bytes(std::mt19937_64& rng) {
  std::array<uint8_t, N> out;
  for (uint8_t& b : out) b = static_cast<uint8_t>(rng());
  return out;
}

inline Point random_point(std::mt19937_64& rng) { return Point::from_uniform_bytes(random_bytes<64>(rng)); }

inline Scalar random_scalar(std::mt19937_64& rng) { return Scalar::from_bytes_wide(random_bytes<64>(rng)); }

// `count` unrelated points, cheaply: multiples of two random points by running sums.
inline std::vector<Point> many_points(std::mt19937_64& rng, size_t count) {
  std::vector<Point> out;
  Point p = random_point(rng);
  const Point step = random_point(rng);
  for (size_t k = 0; k < count; ++k, p = p.twice() + step) out.push_back(p);
  return out;
}

// Every implementation that this machine can run, once.
inline std::vector<const GroupKernels*> all_kernels() {
  std::vector<const GroupKernels*> out;
  for (const InstructionSet set : instruction_sets_up_to(detect_instruction_set())) {
    if (out.empty() || out.back() != &group_kernels(set)) out.push_back(&group_kernels(set));
  }
  return out;
}

}  // namespace zkapex::testing
