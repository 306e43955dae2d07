#include "learning/forgetting_terms.h"

#include <cmath>
#include <limits>
#include <numeric>

#include "learning/evaluation.h"
#include "learning/torch.h"

namespace zkapex {

namespace {

// Σ_tokens g_st d x_stᵀ = g_s · d for every sample.
Tensor directional(const LayerTrace& trace, const Tensor& direction) {
  return (at::matmul(trace.outputs, direction) * trace.inputs).sum({1, 2});
}

struct Directions {
  std::vector<Tensor> mask;          // −a_M
  std::vector<Tensor> compensation;  // δ_C
  std::vector<Tensor> kept;          // 1 on C
};

Result<Directions> directions_of(const Model& before, const Model& after, const std::vector<std::string>& covered,
                                 const std::vector<Tensor>& masks) {
  if (masks.size() != covered.size()) return error("there are {} masks for {} weights", masks.size(), covered.size());
  Directions out;
  for (size_t k = 0; k < covered.size(); ++k) {
    const Tensor* p = before.parameters().find(covered[k]);
    const Tensor* u = after.parameters().find(covered[k]);
    if (!p || !u || p->sizes() != u->sizes() || p->sizes() != masks[k].sizes()) {
      return error("the models and the mask do not agree on '{}'", covered[k]);
    }
    const Tensor mask = masks[k].to(p->options());
    out.mask.push_back(-p->detach() * mask);
    out.compensation.push_back((u->detach() - p->detach()) * (1 - mask));
    out.kept.push_back(1 - mask);
  }
  return out;
}

}  // namespace

Result<ForgettingTerms> forgetting_terms(const Model& before, const Model& after,
                                         const std::vector<std::string>& covered, const std::vector<Tensor>& masks,
                                         double damping, const BatchSource& forget) {
  return catch_torch([&]() -> Result<ForgettingTerms> {
    ZKAPEX_TRY(const Directions d, directions_of(before, after, covered, masks));
    ForgettingTerms out;
    double u1 = 0, u2 = 0, v1 = 0, v2 = 0, uv = 0;
    std::vector<Tensor> weighted, gradient;  // Σ_s (1 + u_s) g_s and Σ_s g_s on C
    for (const Tensor& kept : d.kept) {
      weighted.push_back(at::zeros_like(kept));
      gradient.push_back(at::zeros_like(kept));
    }
    ZKAPEX_CHECK(forget([&](const Batch& batch) -> Status {
      // u_s = −g_s,M · a_M and v_s = g_s,C · δ_C, over all covered weights.
      Tensor u = at::zeros({batch.size()}, before.placement().options()), v = at::zeros_like(u);
      trace_batch(before, batch, covered, [&](const LayerTrace& trace) {
        u.add_(directional(trace, d.mask[trace.layer]));
        v.add_(directional(trace, d.compensation[trace.layer]));
      });
      // b needs every u_s before the first gradient is weighted: a second backward pass.
      trace_batch(before, batch, covered, [&](const LayerTrace& trace) {
        const Tensor scaled = trace.outputs * (1 + u).view({-1, 1, 1});
        weighted[trace.layer].add_(LayerTrace{trace.layer, trace.inputs, scaled}.sum());
        gradient[trace.layer].add_(trace.sum());
      });
      u1 += u.sum().item<double>(), u2 += u.square().sum().item<double>();
      v1 += v.sum().item<double>(), v2 += v.square().sum().item<double>();
      uv += (u * v).sum().item<double>();
      out.samples += batch.size();
      return Done{};
    }));
    if (out.samples == 0) return error("the forget set is empty");
    const auto m = static_cast<double>(out.samples);
    double change = 0, b_norm = 0, g_norm = 0;
    for (size_t k = 0; k < covered.size(); ++k) {
      change += d.compensation[k].square().sum().item<double>();
      b_norm += (weighted[k] * d.kept[k] / m).square().sum().item<double>();
      g_norm += (gradient[k] * d.kept[k] / m).square().sum().item<double>();
    }
    out.mask = u1 / m + 0.5 * u2 / m;
    out.linear = v1 / m;
    out.cross = uv / m;
    out.quadratic = 0.5 * (v2 / m + damping * change);
    out.bound = damping > 0 ? b_norm / (2 * damping) : std::numeric_limits<double>::infinity();
    out.residual_gradient = std::sqrt(g_norm);
    ZKAPEX_TRY(const Evaluation at_p, evaluate(before, forget));
    ZKAPEX_TRY(const Evaluation at_u, evaluate(after, forget));
    const auto mean = [](const std::vector<double>& v) {
      return std::accumulate(v.begin(), v.end(), 0.0) / static_cast<double>(v.size());
    };
    out.measured = mean(at_u.losses) - mean(at_p.losses);
    return out;
  });
}

}  // namespace zkapex
