// Rules of a request on the step x = θ_u − θ_p: bounds on its sums over runs of covered rows. M are the masked weights,
// C the others, Δ the guide.
//
//   group-obs, over the whole model     den Σ_C x² <= num Σ_M x²                          cap
//   guided, tensor by tensor            den Σ_C x² <= num (Σ_M x² + ΣΔ²)                  cap
//                                       Σ Δ x >= π ΣΔ²                                    progress
//                                       Σ_C (x − Δ)² <= κ ΣΔ² + κ′ Σ_M x²                 distance
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/wide.h"
#include "weights/layout.h"

namespace zkapex {

class Deployment;
struct Guidance;
struct Mask;
struct Parameters;

// removed Σ_M x² + moved Σ_C x² + followed Σ Δ x + guide Σ Δ²  >=  0; the left side is the rule's slack.
struct Rule {
  std::string_view name;
  int64_t removed = 0, moved = 0, followed = 0, guide = 0;
};

struct RuleSums {
  Wide removed, moved;
  Wide forward, backward;  // Σ Δ x = forward − backward
  Wide guide;

  RuleSums& operator+=(const RuleSums& other);
};

// Nothing where the rule does not hold.
[[nodiscard]] std::optional<Wide> slack_of(const Rule& rule, const RuleSums& sums);

// The cap of group-obs, which depends on the deployment alone.
[[nodiscard]] Rule cap_rule(const Parameters& parameters);
// Progress alone, of a guided request.
[[nodiscard]] Rule progress_rule(const Guidance& guidance);
// Those of the mask's operator, in a fixed order; none for mask-only, which moves nothing outside the mask.
[[nodiscard]] std::vector<Rule> rules_of(const Parameters& parameters, const Mask& mask);

// Consecutive covered rows over which rules sum.
struct RowGroup {
  uint64_t first_row = 0, rows = 0;
  size_t tensor = 0;  // in Layout::tensors(), where rules go by tensor
};
// Each covered tensor for guided, else the whole model.
[[nodiscard]] std::vector<RowGroup> row_groups(const Layout& layout, const Mask& mask);

// How far a covered tensor followed its guide: Σ Δ x / ΣΔ², Σ_C (x − Δ)² / ΣΔ², and for comparison Σ_M x² / ΣΔ².
struct FollowedTensor {
  std::string name;
  double progress = 0, distance = 0, removed = 0;
};
// Of those that the guide draws anywhere; none without a guide. `sums` by row_groups.
[[nodiscard]] std::vector<FollowedTensor> followed_tensors(const Layout& layout, const Mask& mask,
                                                           std::span<const RuleSums> sums);

struct FollowedRange {
  double least_progress = 1, most_distance = 0;
};
[[nodiscard]] FollowedRange range_of(std::span<const FollowedTensor> tensors);

// Every rule in every group, by its sums; the error names the first that does not hold.
[[nodiscard]] Status check_rules(const Deployment& deployment, const Mask& mask, std::span<const RuleSums> sums);

}  // namespace zkapex
