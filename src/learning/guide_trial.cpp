#include "learning/guide_trial.h"

#include <algorithm>
#include <cmath>

#include "learning/apply_to_model.h"
#include "learning/evaluation.h"
#include "learning/torch.h"

namespace zkapex {

namespace {

constexpr int64_t kAtOnce = 64;
constexpr double kLeastProgress = 0.1;
constexpr double kRemovedShare = 2;  // κ′: of what the mask removes, compensation may move so much

Result<ClientTrial::Figures> figures(const Model& model, const Samples& samples, int64_t limit, uint64_t seed) {
  ZKAPEX_TRY(const Evaluation found, evaluate(model, samples.batches(kAtOnce, limit, seed)));
  return ClientTrial::Figures{found.accuracy, found.mean_loss};
}

uint32_t in_thousandths(double value, uint32_t most) {
  return static_cast<uint32_t>(std::clamp(value * Guidance::kThousand, 0.0, static_cast<double>(most)));
}

}  // namespace

Result<ClientTrial> try_guide(const Simulation& simulation, const SimulatedClient& client, const Mask& request,
                              const Samples& forget, int64_t samples) {
  const uint64_t seed = simulation.options.seed;
  ClientTrial out;
  out.client = client.name;
  ZKAPEX_TRY(out.forget_before, figures(*client.model, forget, samples, seed));
  ZKAPEX_TRY(out.kept_before, figures(*client.model, client.retained, samples, seed));
  const std::unique_ptr<Model> moved = clone(*client.model);
  ZKAPEX_TRY(const ObsSummary summary,
             apply_to_model(simulation.deployment, request, simulation.store(client.name),
                            simulation.model(client.name) / "model.safetensors", *moved, simulation.pool));
  out.tensors = followed_tensors(simulation.deployment.layout(), request, summary.groups);
  ZKAPEX_TRY(out.forget_after, figures(*moved, forget, samples, seed));
  ZKAPEX_TRY(out.kept_after, figures(*moved, client.retained, samples, seed));
  return out;
}

Status set_rules(const std::vector<ClientTrial>& trials, Guidance& guidance) {
  double progress = 1, distance = 0;
  for (const ClientTrial& trial : trials) {
    for (const FollowedTensor& tensor : trial.tensors) {
      if (tensor.progress < kLeastProgress)
        return error(
            "the client '{}' follows the guide by {:.3f} of its length in tensor '{}', too little to hold clients to "
            "it: try a larger scale or pull, or a smaller mask",
            trial.client, tensor.progress, tensor.name);
      progress = std::min(progress, tensor.progress);
      distance = std::max(distance, tensor.distance - kRemovedShare * tensor.removed);
    }
  }
  guidance.progress = in_thousandths(progress / 2, Guidance::kThousand);
  guidance.distance = in_thousandths(std::max(1.0, std::ceil(200 * distance) / 100), Guidance::kMaxDistance);
  guidance.distance_removed = in_thousandths(kRemovedShare, Guidance::kMaxDistance);
  return Done{};
}

}  // namespace zkapex
