#include "experiments/steps.h"

#include "learning/mask_tensors.h"
#include "learning/score_mask.h"
#include "parties/base_model.h"
#include "unlearning/ranking.h"
#include "weights/row_length.h"

namespace zkapex {

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
  ZKAPEX_TRY(const Deployment plain, Deployment::make(std::move(layout), parameters));
  ThreadPool pool(0);
  return anchor_deployment(plain, model, settings.anchor, {}, pool);
}

Result<Mask> cut_mask(Model& model, const Deployment& deployment, const std::string& ratio,
                      const SaliencyOptions& options, const std::optional<BatchSource>& forget,
                      const std::optional<BatchSource>& retain, const std::string& window) {
  ZKAPEX_TRY(const Decimal share, Decimal::parse(ratio));
  ZKAPEX_TRY(const uint64_t count, mask_size(share, deployment.layout().coordinates()));
  ZKAPEX_TRY(const auto covered, covered_by(model, deployment.layout()));
  ZKAPEX_TRY(const std::vector<Tensor> scores, saliency(model, covered, options, forget, retain));
  return score_mask(scores, deployment, count, window);
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

}  // namespace zkapex
