#include "unlearning/rules.h"

#include "unlearning/deployment.h"
#include "unlearning/mask.h"

namespace zkapex {

RuleSums& RuleSums::operator+=(const RuleSums& other) {
  removed += other.removed;
  moved += other.moved;
  forward += other.forward;
  backward += other.backward;
  guide += other.guide;
  return *this;
}

std::optional<Wide> slack_of(const Rule& rule, const RuleSums& sums) {
  Wide have, need;
  const auto add = [&](int64_t factor, const Wide& plus, const Wide& minus) {
    const Wide size(factor < 0 ? -static_cast<uint64_t>(factor) : static_cast<uint64_t>(factor));
    (factor < 0 ? need : have) += size * plus;
    (factor < 0 ? have : need) += size * minus;
  };
  add(rule.removed, sums.removed, Wide());
  add(rule.moved, sums.moved, Wide());
  add(rule.followed, sums.forward, sums.backward);
  add(rule.guide, sums.guide, Wide());
  if (need > have) return std::nullopt;
  return have - need;
}

Rule cap_rule(const Parameters& p) {
  return {.name = "cap",
          .removed = static_cast<int64_t>(p.cap_numerator),
          .moved = -static_cast<int64_t>(p.cap_denominator)};
}

Rule progress_rule(const Guidance& guidance) {
  return {.name = "progress", .followed = Guidance::kThousand, .guide = -static_cast<int64_t>(guidance.progress)};
}

std::vector<Rule> rules_of(const Parameters& p, const Mask& mask) {
  if (mask.op == Operator::kMaskOnly) return {};
  Rule cap = cap_rule(p);
  if (mask.op == Operator::kGroupObs) return {cap};
  constexpr int64_t kUnit = Guidance::kThousand;
  const Guidance& guidance = *mask.guidance;
  cap.guide = cap.removed;
  // 1000 Σ_C (x − Δ)² = 1000 Σ_C x² − 2000 Σ Δ x + 1000 ΣΔ²: Δ is zero on the mask.
  return {cap,
          progress_rule(guidance),
          {.name = "distance",
           .removed = guidance.distance_removed,
           .moved = -kUnit,
           .followed = 2 * kUnit,
           .guide = static_cast<int64_t>(guidance.distance) - kUnit}};
}

std::vector<RowGroup> row_groups(const Layout& layout, const Mask& mask) {
  if (mask.op != Operator::kGuided) return {{0, layout.rows()}};
  std::vector<RowGroup> out;
  for (const size_t tensor : layout.covered()) {
    const LayoutTensor& t = layout.tensors()[tensor];
    out.push_back({t.first_row, t.rows, tensor});
  }
  return out;
}

std::vector<FollowedTensor> followed_tensors(const Layout& layout, const Mask& mask, std::span<const RuleSums> sums) {
  std::vector<FollowedTensor> out;
  if (!mask.guidance) return out;
  const std::vector<RowGroup> groups = row_groups(layout, mask);
  for (size_t g = 0; g < groups.size(); ++g) {
    const double guide = sums[g].guide.approximate();
    const double followed = sums[g].forward.approximate() - sums[g].backward.approximate();
    if (guide == 0) continue;
    out.push_back({layout.tensors()[groups[g].tensor].name, followed / guide,
                   (sums[g].moved.approximate() - 2 * followed + guide) / guide,
                   sums[g].removed.approximate() / guide});
  }
  return out;
}

FollowedRange range_of(std::span<const FollowedTensor> tensors) {
  FollowedRange out;
  for (const FollowedTensor& tensor : tensors) {
    out.least_progress = std::min(out.least_progress, tensor.progress);
    out.most_distance = std::max(out.most_distance, tensor.distance);
  }
  return out;
}

Status check_rules(const Deployment& deployment, const Mask& mask, std::span<const RuleSums> sums) {
  const Layout& layout = deployment.layout();
  const std::vector<RowGroup> groups = row_groups(layout, mask);
  for (size_t g = 0; g < groups.size(); ++g) {
    for (const Rule& rule : rules_of(deployment.parameters(), mask)) {
      if (slack_of(rule, sums[g])) continue;
      if (mask.op == Operator::kGroupObs)
        return error(
            "compensation moves the model more than {}/{} times what the mask removes (in squares): the cap of the "
            "deployment forbids it; more damping moves less",
            deployment.parameters().cap_numerator, deployment.parameters().cap_denominator);
      return error(
          "tensor '{}' does not meet the request's rule on its {}: this model's curvature keeps it too far from where "
          "the guide draws it",
          layout.tensors()[groups[g].tensor].name, rule.name);
    }
  }
  return Done{};
}

}  // namespace zkapex
