#include "learning/rehearsed_request.h"

#include <algorithm>
#include <cmath>

#include "learning/mask_tensors.h"
#include "learning/model_files.h"
#include "learning/torch.h"
#include "unlearning/guide_from.h"

namespace zkapex {

namespace {

Result<std::vector<SimulatedClient>> imagine(const Simulation& simulation, std::vector<std::string> domains) {
  domains.insert(domains.begin(), "");  // θ0 itself
  std::vector<SimulatedClient> out;
  for (const std::string& domain : domains) {
    ZKAPEX_TRY(SimulatedClient client, simulation.client(domain));
    out.push_back(std::move(client));
  }
  return out;
}

// θ0 + Δ, as a model.
Status write_displaced(const Model& original, const std::vector<std::string>& covered, const std::vector<Tensor>& guide,
                       const std::filesystem::path& folder) {
  return catch_torch([&]() -> Status {
    const at::NoGradGuard no_grad;
    const std::unique_ptr<Model> displaced = clone(original);
    for (size_t k = 0; k < covered.size(); ++k) displaced->parameters().find(covered[k])->add_(guide[k]);
    return save_model(*displaced, folder);
  });
}

// The rehearsal's own unlearned checkpoint.
Result<std::filesystem::path> learned(const Simulation& simulation, const std::vector<SimulatedClient>& clients,
                                      const RehearsalData& data, RehearsalOptions options) {
  ZKAPEX_TRY(const auto covered, covered_by(*clients.front().model, simulation.deployment.layout()));
  options.checkpoint = simulation.folder / "guide.safetensors";
  Progress progress(simulation.progress, "rehearsing", "steps", static_cast<uint64_t>(options.steps));
  bool started = false;
  ZKAPEX_TRY(const std::vector<Tensor> guide,
             rehearse(clients, covered, data, options, [&](const RehearsalStep& step) -> Status {
               progress.advance(started ? 1 : static_cast<uint64_t>(step.step));  // a resumed run
               started = true;
               return Done{};
             }));
  const std::filesystem::path folder = simulation.folder / "unlearned";
  ZKAPEX_CHECK(write_displaced(simulation.original, covered, guide, folder));
  return folder;
}

double furthest(const Simulation& simulation, const std::vector<std::string>& covered, const Mask& request) {
  const at::NoGradGuard no_grad;
  const Deployment& deployment = simulation.deployment;
  const double step = std::ldexp(1.0, -static_cast<int>(deployment.parameters().weights.fraction_bits));
  const std::vector<Wide> squares =
      GuideReader(deployment.layout(), request.support, request.guidance->guide).squares();
  double out = 0;
  for (size_t k = 0; k < covered.size(); ++k) {
    const double size = simulation.original.parameters().find(covered[k])->norm().item<double>();
    if (size > 0) out = std::max(out, std::sqrt(squares[k].approximate()) * step / size);
  }
  return out;
}

}  // namespace

Result<RehearsedRequest> rehearse_request(const Simulation& simulation, const Mask& mask, const RehearsalData& data,
                                          const RehearsalPlan& plan) {
  ZKAPEX_TRY(const std::vector<SimulatedClient> clients, imagine(simulation, plan.domains));
  std::filesystem::path unlearned = plan.guide_from;
  if (unlearned.empty()) {
    ZKAPEX_TRY(unlearned, learned(simulation, clients, data, plan.options));
  }
  ZKAPEX_TRY(const Checkpoint to, Checkpoint::open(unlearned));
  ZKAPEX_TRY(const Checkpoint from, Checkpoint::open(simulation.model(clients.front().name)));
  if (const Status same = simulation.deployment.layout().check_covered(to.tensors()); !same)
    return same.error().within(unlearned.string());
  RehearsedRequest out{mask, {}, 0};
  out.request.op = Operator::kGuided;
  Guidance& guidance = out.request.guidance.emplace();
  guidance.pull = simulation.pull;
  if (plan.guide_from.empty()) guidance.method = "rehearsal";
  if (!plan.method.empty()) guidance.method = plan.method;
  ZKAPEX_TRY(guidance.guide, guide_from(simulation.deployment, mask.support, to, from, plan.guide_scale));
  ZKAPEX_TRY(const auto covered, covered_by(*clients.front().model, simulation.deployment.layout()));
  out.furthest = furthest(simulation, covered, out.request);
  Progress progress(simulation.progress, "trying the request", "clients", clients.size());
  for (const SimulatedClient& client : clients) {
    ZKAPEX_TRY(ClientTrial trial, try_guide(simulation, client, out.request, data.forget, plan.measured));
    out.trials.push_back(std::move(trial));
    progress.advance();
  }
  ZKAPEX_CHECK(set_rules(out.trials, guidance));
  ZKAPEX_CHECK(out.request.check_for(simulation.deployment));
  return out;
}

}  // namespace zkapex
