// What a piece of work will take, told before it begins.
#pragma once

#include <cstdint>

namespace zkapex {

class Deployment;
class RegistrationPlan;
class ThreadPool;
class WindowPlan;

struct Estimate {
  double seconds = 0;         // of this machine when it is idle; a factor of two either way is to be expected
  uint64_t memory_bytes = 0;  // at the worst moment, at most
  uint64_t proof_bytes = 0;   // exactly
  uint64_t disk_bytes = 0;    // of scratch files, which are gone afterwards
};

// How long this machine takes for what most of the work is made of, in nanoseconds. Measured, which takes milliseconds.
struct Rates {
  double product = 0;  // of two scalars
  double entry = 0;    // of 8 bits, committed together with those of a few thousand other rows
  static Rates measure();
};

// `masked`: coordinates of the mask; `batch`: what there is to commit to the curvature with.
[[nodiscard]] Estimate estimate_window(const Deployment& deployment, const WindowPlan& plan, uint64_t masked,
                                       ThreadPool& pool, const Rates& rates);
[[nodiscard]] Estimate estimate_registration(const Deployment& deployment, const RegistrationPlan& plan, uint64_t batch,
                                             ThreadPool& pool, const Rates& rates);

}  // namespace zkapex
