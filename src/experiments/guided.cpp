#include "experiments/guided.h"

#include <ATen/CPUGeneratorImpl.h>

#include <cmath>

#include "attestation/inputs.h"
#include "data/shuffle.h"
#include "experiments/seeds.h"
#include "learning/mask_tensors.h"
#include "learning/model_files.h"
#include "learning/torch.h"
#include "unlearning/guide_from.h"

namespace zkapex {

using nlohmann::json;

namespace {

void read_objective(ConfigReader& reader, std::string_view key, RehearsalSettings::Objective& out) {
  reader.part(key, [&](const json& part, const std::string& where) {
    ConfigReader inner(part, where);
    inner.read("ratio", out.ratio).read("pull", out.pull).read("rate", out.rate).read("weight", out.weight);
    inner.require(Decimal::parse(out.ratio).ok(), "ratio", "must be a decimal number in quotes");
    inner.require(out.pull > 0 && out.pull <= Guidance::kMaxPull, "pull", "must be from 1 to 2^40");
    inner.require(out.rate > 0 && out.weight > 0, "rate", "and weight must be positive");
    return inner.finish();
  });
}

RehearsalPlan plan_for(const RehearsalSettings& settings, const GuideInputs& inputs) {
  RehearsalPlan plan = settings.plan;
  const RehearsalSettings::Objective& objective = settings.objective(inputs.by_class);
  plan.options.forgetting = inputs.by_class ? Forgetting::kClasses : Forgetting::kSamples;
  plan.options.rate = objective.rate;
  plan.options.weight = objective.weight;
  plan.options.seed = inputs.seed;
  if (plan.domains.empty()) plan.domains = default_domains(inputs.retain);
  return plan;
}

// Leaves the request (psi.zka) and what it was made of (unlearned/) in `folder`.
Status rehearse_into(const Path& folder, const GuideInputs& inputs, const Deployment& deployment, const Mask& mask,
                     const RehearsalSettings& settings, const CellWork& work) {
  SimulationOptions options = settings.simulation;
  options.seed = inputs.seed;
  options.damping.value = settings.damping;
  const Simulation simulation{.original = inputs.model,
                              .retain = inputs.retain,
                              .format = inputs.format,
                              .deployment = deployment,
                              .masked = mask.support,
                              .pull = settings.objective(inputs.by_class).pull,
                              .options = options,
                              .folder = work.scratch / "rehearsal",
                              .pool = *work.work.pool,
                              .progress = work.work.progress};
  ZKAPEX_TRY(const RehearsedRequest made, rehearse_request(simulation, mask, inputs.data, plan_for(settings, inputs)));
  ZKAPEX_CHECK(write_file(folder / "psi.zka", made.request.serialize()));
  std::error_code failed;
  std::filesystem::copy(simulation.folder / "unlearned", folder / "unlearned", std::filesystem::copy_options::recursive,
                        failed);
  if (failed) return error("cannot copy what was rehearsed: {}", failed.message());
  return Done{};
}

// The unlearned checkpoint with noise on its way from θ0.
Result<Path> with_noise(const Path& unlearned, const GuideInputs& inputs, const Deployment& deployment, double noise,
                        const CellWork& work) {
  ZKAPEX_TRY(const auto model, load_model(unlearned));
  ZKAPEX_TRY(const auto original, load_model(inputs.original));
  ZKAPEX_TRY(const auto covered, covered_by(*model, deployment.layout()));
  const Path out = work.scratch / "noisy";
  return catch_torch([&]() -> Result<Path> {
    const at::NoGradGuard no_grad;
    at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(derived_seed(inputs.seed, kNoise));
    for (const std::string& name : covered) {
      const Tensor &to = *model->parameters().find(name), &from = *original->parameters().find(name);
      const double size = (to - from).square().mean().sqrt().item<double>();
      to.add_(at::empty_like(to).normal_(0, noise * size, generator));
    }
    ZKAPEX_CHECK(save_model(*model, out));
    return out;
  });
}

}  // namespace

Status RehearsalSettings::parse(const json& settings, const std::string& where, RehearsalSettings& out) {
  ConfigReader reader(settings, where);
  reader.read("damping", out.damping).read("steps", out.plan.options.steps).read("batch", out.plan.options.batch);
  reader.read("fisher_samples", out.simulation.fisher_samples).read_if_there("domains", out.plan.domains);
  reader.part("clients", [&](const json& part, const std::string& at) {
    ConfigReader inner(part, at);
    TrainingOptions& t = out.simulation.training;
    inner.read("epochs", t.epochs).read("batch", t.batch).read("rate", t.rate);
    inner.read_if_there("layer_decay", t.layer_decay).read_if_there("warmup", t.warmup);
    const Status good = t.check();
    inner.require(good.ok(), "rate", good.ok() ? "" : good.error().message);
    return inner.finish();
  });
  read_objective(reader, "classes", out.classes);
  read_objective(reader, "samples", out.samples);
  reader.require(out.damping > 0, "damping", "must be positive");
  reader.require(out.simulation.fisher_samples > 0, "fisher_samples", "must be positive");
  reader.require(out.plan.options.steps > 0, "steps", "must be positive");
  reader.require(out.plan.options.batch > 1, "batch", "must be two at least");
  return reader.finish();
}

OperatorSettings RehearsalSettings::applied_to(OperatorSettings settings, bool by_class) const {
  settings.ratio = objective(by_class).ratio;
  settings.damping.value = damping;
  return settings;
}

json RehearsalSettings::recipe(bool by_class) const {
  const Objective& own = objective(by_class);
  return {{"ratio", own.ratio},
          {"damping", damping},
          {"pull", own.pull},
          {"simulation", simulation.text()},
          {"domains", plan.domains},
          {"steps", plan.options.steps},
          {"batch", plan.options.batch},
          {"rate", own.rate},
          {"weight", own.weight}};
}

std::string RehearsalSettings::describe() const {
  const auto request = [](const Objective& o) {
    return fmt::format("mask {:g} %, pull {}, Adam at {:g}, forgetting weighs {:g}", 100 * std::stod(o.ratio), o.pull,
                       o.rate, o.weight);
  };
  return fmt::format("classes: {}; samples: {}; damping {:g}, {} steps of {} + {} samples", request(classes),
                     request(samples), damping, plan.options.steps, plan.options.batch, plan.options.batch);
}

Result<Mask> guided_request(const ModelCache& cache, json key, const GuideInputs& inputs, const Deployment& deployment,
                            const Mask& mask, const RehearsalSettings& settings, const GuideChange& change,
                            const CellWork& work) {
  key["what"] = "rehearsed";
  key["rehearsal"] = settings.recipe(inputs.by_class);
  key["deployment"] = to_hex(deployment.digest());
  key["by_class"] = inputs.by_class;
  key["rehearsed_with"] = inputs.seed;
  ZKAPEX_TRY(const Path folder, cache.get_folder(key, [&](const Path& into) {
    return rehearse_into(into, inputs, deployment, mask, settings, work);
  }));
  ZKAPEX_TRY(Mask request, read_mask(folder / "psi.zka", deployment));
  Guidance& guidance = *request.guidance;
  guidance.pull = static_cast<uint64_t>(std::llround(change.pull_factor * static_cast<double>(guidance.pull)));
  if (change.scale != 1 || change.noise != 0) {
    Path unlearned = folder / "unlearned";
    if (change.noise != 0) {
      ZKAPEX_TRY(unlearned, with_noise(unlearned, inputs, deployment, change.noise, work));
    }
    ZKAPEX_TRY(const Checkpoint to, Checkpoint::open(unlearned));
    ZKAPEX_TRY(const Checkpoint from, Checkpoint::open(inputs.original));
    ZKAPEX_TRY(guidance.guide, guide_from(deployment, request.support, to, from, change.scale));
  }
  return request;
}

}  // namespace zkapex
