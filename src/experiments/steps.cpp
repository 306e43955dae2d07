#include "experiments/steps.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/from_blob.h>

#include "attestation/inputs.h"
#include "base/random.h"
#include "learning/mask_tensors.h"
#include "unlearning/ranking.h"
#include "weights/row_length.h"

namespace zkapex {

namespace {

// Scores in the order of the layout's coordinates.
ScoreSource in_order(const std::vector<Tensor>& scores) {
  return [&scores](const ScoreVisitor& visit) -> Status {
    for (const Tensor& score : scores) {
      const Tensor flat = score.detach().to(at::kCPU, at::kDouble).contiguous();
      ZKAPEX_CHECK(visit({flat.data_ptr<double>(), static_cast<size_t>(flat.numel())}));
    }
    return Done{};
  };
}

}  // namespace

Result<double> fit(Model& model, const Samples& samples, Method method, const TrainingOptions& options,
                   ProgressStyle progress, const std::string& label) {
  Progress bar(progress, label, "samples", static_cast<uint64_t>(samples.size() * options.epochs));
  ZKAPEX_TRY(const TrainingReport report,
             train(model, samples, method, options, [&](const TrainingStep& step) -> Status {
               bar.advance(static_cast<uint64_t>(step.samples));
               return Done{};
             }));
  return report.seconds;
}

Result<Deployment> mlp_deployment(const Path& checkpoint, const std::string& family, const OperatorSettings& settings) {
  ZKAPEX_TRY(const Checkpoint model, Checkpoint::open(checkpoint));
  ZKAPEX_TRY(const CoverPatterns patterns, cover_preset(family));
  std::vector<TensorInfo> tensors;
  uint64_t covered = 0;
  for (const TensorView& tensor : model.tensors()) {
    tensors.push_back(tensor.info());
    if (is_covered(patterns, tensor.info().name)) covered += tensor.count();
  }
  const Geometry geometry{.block = settings.block, .row = default_row_length(settings.block, covered)};
  ZKAPEX_TRY(Layout layout, Layout::make(tensors, patterns, geometry));
  Parameters parameters;
  parameters.curvature_bits = settings.curvature_bits;
  parameters.floor = settings.floor;
  parameters.cap_numerator = settings.cap;
  ZKAPEX_TRY(parameters.error, Decimal::parse(settings.error));
  return Deployment::make(std::move(layout), parameters);
}

Result<Mask> cut_mask(Model& model, const Deployment& deployment, const std::string& ratio,
                      const SaliencyOptions& options, const std::optional<BatchSource>& forget,
                      const std::optional<BatchSource>& retain, const std::string& window) {
  ZKAPEX_TRY(const auto covered, covered_by(model, deployment.layout()));
  ZKAPEX_TRY(const std::vector<Tensor> scores, saliency(model, covered, options, forget, retain));
  ZKAPEX_TRY(const Decimal share, Decimal::parse(ratio));
  const uint64_t coordinates = deployment.layout().coordinates();
  ZKAPEX_TRY(const uint64_t count, mask_size(share, coordinates));
  Mask mask;
  mask.deployment = deployment.digest();
  mask.window = window;
  ZKAPEX_TRY(mask.nonce, random_array<32>());
  ZKAPEX_TRY(mask.support, top_coordinates(in_order(scores), coordinates, count));
  ZKAPEX_CHECK(mask.check());
  return mask;
}

Result<FisherStoreReport> write_curvature(Model& model, const BatchSource& batches, const Deployment& deployment,
                                          const Damping& damping, const Path& store, const WorkSettings& work,
                                          const std::string& label) {
  FisherStoreOptions options;
  options.damping = damping;
  options.overwrite = true;  // scratch: what a stopped run left there may be of other weights
  Progress bar(work.progress, label, "blocks", deployment.layout().blocks());
  return write_fisher_store(model, batches, deployment, options, store, *work.pool,
                            [&](uint64_t blocks) { bar.advance(blocks); });
}

Result<ObsSummary> apply_operator(const Deployment& deployment, const Mask& mask, const Path& store,
                                  const Path& checkpoint, Model& model, ThreadPool& pool) {
  const Layout& layout = deployment.layout();
  ZKAPEX_TRY(const Checkpoint weights, Checkpoint::open(checkpoint));
  ZKAPEX_TRY(const StoreReader curvature, open_store(store, deployment));
  ZKAPEX_TRY(const BlockReader read, checkpoint_blocks(deployment, weights));
  ZKAPEX_TRY(const std::vector<std::string> covered, covered_by(model, layout));
  std::vector<std::vector<float>> values;  // of each covered tensor
  for (const size_t k : layout.covered()) values.emplace_back().reserve(layout.tensors()[k].count);
  std::vector<size_t> place(layout.tensors().size());  // of a tensor among the covered ones
  for (size_t k = 0; k < layout.covered().size(); ++k) place[layout.covered()[k]] = k;
  const FixedPoint& format = deployment.parameters().weights;
  // Blocks come in order, so that each tensor is filled from its beginning.
  const BlockSink sink = [&](uint64_t index, std::span<const int64_t> theta, const ObsOutcome&) -> Status {
    std::vector<float>& tensor = values[place[layout.block(index).tensor]];
    for (const int64_t integer : theta) tensor.push_back(static_cast<float>(format.to_double(integer)));
    return Done{};
  };
  ZKAPEX_TRY(ObsSummary summary, apply_group_obs(deployment, mask, curvature, read, sink, pool));
  ZKAPEX_CHECK(check_rules(deployment, mask, summary.groups));
  return catch_torch([&]() -> Result<ObsSummary> {
    const at::NoGradGuard no_gradients;
    for (size_t k = 0; k < covered.size(); ++k) {
      const Tensor& weight = *model.parameters().find(covered[k]);  // covered_by has found it
      if (static_cast<size_t>(weight.numel()) != values[k].size())
        return error("{} has {} weights, but {} came out", covered[k], weight.numel(), values[k].size());
      weight.copy_(at::from_blob(values[k].data(), weight.sizes(), at::kFloat));
    }
    return summary;
  });
}

}  // namespace zkapex
