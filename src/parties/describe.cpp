#include "parties/describe.h"

namespace zkapex {

void describe(const Deployment& deployment, nlohmann::ordered_json& values) {
  const Parameters& p = deployment.parameters();
  const Layout& layout = deployment.layout();
  values["deployment"] = to_hex(deployment.digest());
  values["tensors"] = layout.tensors().size();
  values["covered_tensors"] = layout.covered().size();
  values["covered_weights"] = layout.coordinates();
  values["block"] = layout.geometry().block;
  values["blocks"] = layout.blocks();
  values["row_length"] = layout.geometry().row;
  values["rows"] = layout.rows();
  values["unchanged_rows"] = layout.unchanged_rows();
  values["bits"] = p.curvature_bits;
  values["floor"] = p.floor;
  values["fraction_bits"] = p.weights.fraction_bits;
  values["width"] = p.weights.width;
  values["certified_error"] = p.error.text();
  values["cap"] = fmt::format("{}/{}", p.cap_numerator, p.cap_denominator);
  values["projections"] = p.projections;
  values["proved_bits"] = {{"weights", p.weight_bits()}, {"curvature", p.curvature_range_bits()}};
  values["slack_bits"] = deployment.slack_bits();
  if (const std::optional<Anchor>& anchor = deployment.anchor()) {
    const AnchorLimits& limits = anchor->limits;
    values["anchor"] = {{"ratio", limits.ratio / static_cast<double>(AnchorLimits::kThousand)},
                        {"drift", limits.drift.text()},
                        {"added", limits.added.text()},
                        {"base", to_hex(anchor->base)}};
    values["free_tensors"] = tensors_anchored(deployment, Anchored::kFree);
    values["added_tensors"] = tensors_anchored(deployment, Anchored::kAdded);
  }
  values["loose"] = deployment.loose();
}

std::vector<std::string> covered_names(const Deployment& deployment) {
  std::vector<std::string> out;
  for (const size_t k : deployment.layout().covered()) out.push_back(deployment.layout().tensors()[k].name);
  return out;
}

void describe(const std::optional<Guidance>& guidance, nlohmann::ordered_json& values) {
  if (!guidance) return;
  const auto fraction = [](uint32_t thousandths) { return thousandths / static_cast<double>(Guidance::kThousand); };
  values["method"] = guidance->method;
  values["pull"] = guidance->pull;
  values["progress"] = fraction(guidance->progress);
  values["distance"] = fraction(guidance->distance);
  values["distance_removed"] = fraction(guidance->distance_removed);
}

}  // namespace zkapex
