#include "learning/drift.h"

#include <algorithm>

#include "learning/torch.h"

namespace zkapex {

namespace {

double root_mean_square(const Tensor& values) { return values.square().mean().sqrt().item<double>(); }

bool is_matrix(const Tensor& tensor) {
  return std::ranges::count_if(tensor.sizes(), [](int64_t length) { return length > 1; }) > 1;
}

}  // namespace

Result<Drift> drift_from(const Model& base, const Model& model) {
  return catch_torch([&]() -> Result<Drift> {
    const at::NoGradGuard no_grad;
    Drift out;
    for (const Parameter& parameter : model.parameters().all()) {
      const Tensor now = parameter.value.to(at::kDouble);
      const Tensor* before = base.parameters().find(parameter.name);
      if (!before || before->sizes() != now.sizes()) return error("'{}' is in only one of the models", parameter.name);
      const Tensor then = before->to(at::kDouble), moved = now - then;
      const bool head = parameter.name.starts_with("classifier.");
      if (is_matrix(now)) {
        double& furthest = head ? out.head : out.matrices;
        const double whole = root_mean_square(then);
        if (whole > 0) furthest = std::max(furthest, root_mean_square(moved) / whole);
      } else {
        double& furthest = head ? out.head_bias : out.vectors;
        furthest = std::max(furthest, root_mean_square(moved));
      }
    }
    for (const AdapterBranch& branch : model.adapters()) {
      for (const Linear* linear : {&branch.down, &branch.up}) {
        for (const Tensor* added : {&linear->weight, &linear->bias}) {
          if (added->defined()) out.added = std::max(out.added, root_mean_square(added->to(at::kDouble)));
        }
      }
    }
    return out;
  });
}

}  // namespace zkapex
