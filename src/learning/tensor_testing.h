// For tests that compare tensors.
#pragma once

#include <limits>

#include "learning/torch.h"

namespace zkapex {

// max |a − b| relative to max |b|.
inline double relative_difference(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor x = a.detach().to(at::kDouble), y = b.detach().to(at::kDouble);
  if (x.sizes() != y.sizes()) return std::numeric_limits<double>::infinity();
  return ((x - y).abs().max() / y.abs().max()).item<double>();
}

}  // namespace zkapex
