// The demo's redundant client: a model with every feature in two copies, which any mask leaves one of.
#include "attestation/files.h"
#include "attestation/inputs.h"
#include "demo/cheats.h"
#include "learning/fisher_store.h"
#include "learning/model_files.h"
#include "learning/torch.h"
#include "parties/admission.h"
#include "parties/base_model.h"
#include "parties/ledger.h"
#include "parties/register_client.h"

namespace zkapex::demo {

namespace {

// Of each MLP's hidden units the larger half, each twice, with half of its weight in the output.
Status copy_features(const Model& model) {
  return catch_torch([&]() -> Status {
    const at::NoGradGuard no_grad;
    const std::vector<std::string> weights = model.mlp_weights();  // fc1 and fc2 of every block
    for (size_t k = 0; k + 1 < weights.size(); k += 2) {
      const Tensor &in = *model.parameters().find(weights[k]), &out = *model.parameters().find(weights[k + 1]);
      const std::string bias = weights[k].substr(0, weights[k].size() - std::string_view("weight").size()) + "bias";
      const Tensor& offset = *model.parameters().find(bias);
      const Tensor size = in.square().sum(1) * out.square().sum(0);
      const Tensor kept = std::get<1>(size.topk(size.numel() / 2));
      const Tensor twice = at::cat({kept, kept});
      in.copy_(in.index_select(0, twice));
      offset.copy_(offset.index_select(0, twice));
      out.copy_(out.index_select(1, twice) / 2);
    }
    return Done{};
  });
}

}  // namespace

Result<std::optional<Rejection>> register_redundant(DemoRun& run, const Path& scratch) {
  constexpr const char* kName = "mallory";
  constexpr int64_t kSamples = 256;
  const Path folder = scratch / "redundant", own = scratch / "redundant.zka", store = scratch / "redundant-store.zka";
  const std::string& victim = run.settings.clients.back();
  ZKAPEX_TRY(const Deployment deployment, zkapex::read_deployment(run.files.deployment()));
  ZKAPEX_TRY(const auto model, load_model(run.files.personal(victim), {.placement = run.placement}));
  ZKAPEX_CHECK(copy_features(*model));
  ZKAPEX_CHECK(save_model(*model, folder));
  // No honest prover would begin with θ0: this one takes its own model for the base.
  ZKAPEX_TRY(const Deployment plain, Deployment::make(deployment.layout(), deployment.parameters()));
  ZKAPEX_TRY(const Checkpoint base, Checkpoint::open(folder));
  ZKAPEX_TRY(const Deployment around, anchor_deployment(plain, base, deployment.anchor()->limits, {}, *run.work.pool));
  ZKAPEX_CHECK(write_file(own, around.serialize()));
  ZKAPEX_TRY(const Samples drawings,
             Samples::open(run.splits.back().sets.at("personal"), image_format(), model->config()));
  ZKAPEX_CHECK(write_curvature(*model, drawings.batches(32, kSamples, run.settings.seed), around,
                               run.settings.unlearning().damping, store, run.work, "curvature of copies"));
  ZKAPEX_CHECK(register_client({.deployment = own,
                                .model = folder / "model.safetensors",
                                .store = store,
                                .base = folder / "model.safetensors",
                                .client = kName,
                                .out = scratch / "redundant-state"},
                               run.work));
  ZKAPEX_TRY(RegistrationFile file,
             read_public_file<RegistrationFile>(scratch / "redundant-state" / "registration.zka"));
  file.deployment = deployment.digest();
  ZKAPEX_TRY(const Ledger ledger, Ledger::open(run.files.earlier_ledger()));
  ZKAPEX_TRY(const BaseRows rows, open_base(run.files.original() / "model.safetensors", deployment, *run.work.pool));
  ZKAPEX_TRY(const Admission admission, admit(ledger, &rows, file.encode(), run.work));
  return admission.rejection;
}

}  // namespace zkapex::demo
