// The provider's part of the demo: deployment, mask, verdicts.
#include "attestation/batch.h"
#include "attestation/inputs.h"
#include "base/random.h"
#include "cli/demo_data.h"
#include "cli/demo_run.h"
#include "cli/row_length.h"
#include "cli/work.h"
#include "learning/mask_tensors.h"
#include "learning/model_files.h"
#include "learning/saliency.h"
#include "learning/shuffle.h"
#include "unlearning/ranking.h"
#include "weights/checkpoint.h"

namespace zkapex::cli {

namespace {

constexpr const char* kWindow = "demo";

Result<Deployment> make_deployment(const DemoRun& run) {
  ZKAPEX_TRY(const Checkpoint model, Checkpoint::open(run.files.original() / "model.safetensors"));
  ZKAPEX_TRY(const CoverPatterns patterns, cover_preset("vit"));
  std::vector<TensorInfo> tensors;
  uint64_t covered = 0;
  for (const TensorView& tensor : model.tensors()) {
    tensors.push_back(tensor.info());
    if (is_covered(patterns, tensor.info().name)) covered += tensor.count();
  }
  const DemoSettings& s = run.settings;
  const Geometry geometry{.block = s.block, .row = default_row_length(s.block, covered)};
  ZKAPEX_TRY(Layout layout, Layout::make(tensors, patterns, geometry));
  Parameters parameters;
  parameters.curvature_bits = s.curvature_bits;
  parameters.floor = s.floor;
  ZKAPEX_TRY(parameters.error, Decimal::parse(s.error));
  return Deployment::make(std::move(layout), parameters);
}

// Scores in the order of the layout's coordinates.
ScoreSource in_order(const std::vector<Tensor>& scores) {
  return [&scores](const ScoreVisitor& visit) -> Status {
    for (const Tensor& score : scores) {
      const Tensor flat = score.detach().cpu().to(at::kDouble).contiguous();
      ZKAPEX_CHECK(visit({flat.data_ptr<double>(), static_cast<size_t>(flat.numel())}));
    }
    return Done{};
  };
}

std::vector<Submission> submissions_in(const DemoRun& run) {
  std::vector<Submission> out;
  for (const std::string& client : run.settings.clients) {
    const Path folder = run.files.inbox(client);
    out.push_back({folder / "registration.zka", folder / "proof.zka", {}});
  }
  return out;
}

}  // namespace

Status publish_deployment(DemoRun& run) {
  run.tell.step("provider", "publishes what all agree on: which weights, blocks, certified error");
  ZKAPEX_TRY(const Deployment deployment, make_deployment(run));
  ZKAPEX_CHECK(write_file(run.files.deployment(), deployment.serialize()));
  describe(deployment, run.report["deployment"]);
  run.tell.say(fmt::format("    {} weights in {} blocks of {}, certified error {}", deployment.layout().coordinates(),
                           deployment.layout().blocks(), run.settings.block, run.settings.error));
  return Done{};
}

Status publish_mask(DemoRun& run) {
  const DemoSettings& s = run.settings;
  run.tell.step("provider",
                fmt::format("finds the weights that '{}' leans on, in its own model, and publishes Ψ", s.forgotten()));
  const SecondsSince seconds;
  ZKAPEX_TRY(const Deployment deployment, zkapex::read_deployment(run.files.deployment()));
  ZKAPEX_TRY(const auto model, load_model(run.files.original(), {.placement = run.placement}));
  ZKAPEX_TRY(const auto covered, covered_by(*model, deployment.layout()));
  ZKAPEX_TRY(const Samples forget, Samples::open(run.splits[0].sets.at("forget"), demo_format(), model->config()));
  ZKAPEX_TRY(const std::vector<Tensor> scores,
             saliency(*model, covered, {}, forget.batches(32, s.saliency_samples, derived_seed(s.seed, 300)), {}));

  ZKAPEX_TRY(const Decimal ratio, Decimal::parse(s.ratio));
  const uint64_t coordinates = deployment.layout().coordinates();
  ZKAPEX_TRY(const uint64_t count, mask_size(ratio, coordinates));
  Mask mask;
  mask.deployment = deployment.digest();
  mask.window = kWindow;
  ZKAPEX_TRY(mask.nonce, random_array<32>());
  ZKAPEX_TRY(mask.support, top_coordinates(in_order(scores), coordinates, count));
  ZKAPEX_CHECK(mask.check());
  const Bytes bytes = mask.serialize();
  ZKAPEX_CHECK(write_file(run.files.mask(), bytes));
  run.report["mask"] = {{"window", mask.window}, {"ratio", s.ratio}, {"masked", count}, {"bytes", bytes.size()}};
  run.report["seconds"]["saliency"] = seconds();
  run.tell.say(fmt::format("    {} of {} weights: {} bytes, {:.0f} s", count, coordinates, bytes.size(), seconds()));
  return Done{};
}

Status verify_clients(DemoRun& run) {
  run.tell.step("provider", "verifies what both clients sent, in one batch");
  ZKAPEX_TRY(const Deployment deployment, zkapex::read_deployment(run.files.deployment()));
  ZKAPEX_TRY(const Mask mask, zkapex::read_mask(run.files.mask(), deployment));
  const std::vector<Submission> submissions = submissions_in(run);
  auto& out = run.report["verification"];
  // A registration is verified once; later windows are checked alone.
  for (const bool registered_before : {false, true}) {
    const SecondsSince seconds;
    ZKAPEX_TRY(const std::vector<Judgement> judgements,
               judge(deployment, mask, submissions,
                     {.require_certificate = true, .assume_registered = registered_before}, run.work));
    out[registered_before ? "windows_seconds" : "all_seconds"] = seconds();
    for (size_t k = 0; k < judgements.size(); ++k) {
      if (judgements[k].rejection) {
        return error("{} was honest, but its proof was rejected ({}): {}", run.settings.clients[k],
                     name(judgements[k].rejection->reason), judgements[k].rejection->detail);
      }
      run.client_report(k)["verdict"] = "accepted";
      if (!registered_before) run.tell.say(fmt::format("    {}: accepted", run.settings.clients[k]));
    }
  }
  out["clients"] = submissions.size();
  run.tell.say(fmt::format("    registrations and windows {:.2f} s, windows alone {:.2f} s",
                           out["all_seconds"].get<double>(), out["windows_seconds"].get<double>()));
  return Done{};
}

}  // namespace zkapex::cli
