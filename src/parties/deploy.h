// A deployment, from a model to its file: what a provider publishes before anyone registers.
#pragma once

#include "parties/work.h"
#include "unlearning/deployment.h"

namespace zkapex {

// Decimals are texts, so that they are what was written: "1e-5", "0.4".
struct DeployRequest {
  Path model, base, out;  // base: θ0, where it is not the model itself
  std::string preset;
  std::vector<std::string> cover;
  uint64_t block = 256, row_length = 0;  // a row length of 0 is chosen
  std::string error = "1e-5", cap = "4";
  bool allow_loose = false, no_anchor = false;
  std::string ratio = "0.4", drift = AnchorLimits{}.drift.text(), added = AnchorLimits{}.added.text();
  std::vector<std::string> free;
  Parameters parameters;  // all but error and cap
};
struct DeployReport {
  Deployment deployment;
  size_t file_bytes = 0;
  Sha256::Digest sha256{};
  size_t proof_bytes = 0;  // of a window, made with so much memory
};
// Refused: a pattern that matches nothing, a weight that does not fit, parameters that say little unless they are
// allowed, and what nobody could prove.
[[nodiscard]] Result<DeployReport> deploy(const DeployRequest& request, const WorkSettings& settings);

}  // namespace zkapex
