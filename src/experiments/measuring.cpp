#include "experiments/measuring.h"

#include "data/membership.h"
#include "data/shuffle.h"
#include "experiments/images.h"
#include "experiments/seeds.h"
#include "learning/evaluation.h"

namespace zkapex {

namespace {
constexpr int64_t kImageBatch = 128;
}

Result<Samples> OpenImages::open(const std::string& set, const ModelConfig& config) {
  ZKAPEX_TRY(const SampleSet chosen, splits_.get(set));
  std::shared_ptr<const Dataset>& source = sources_[chosen.source.text()];
  if (!source) {
    ZKAPEX_TRY(source, open_dataset(chosen.source, image_format()));
  }
  return Samples::over(source, chosen, config);
}

Result<MeasuredSets> MeasuredSets::open(OpenImages& images, const ModelConfig& config, const std::string& measured_on,
                                        int64_t member_limit, uint64_t seed) {
  ZKAPEX_TRY(Samples members, images.open("forget", config));
  ZKAPEX_TRY(Samples held_out, images.open("forget-" + measured_on, config));
  ZKAPEX_TRY(Samples retained, images.open("retain-" + measured_on, config));
  ZKAPEX_TRY(Samples personal, images.open("personal-" + measured_on, config));
  return MeasuredSets{std::move(members),  std::move(held_out), std::move(retained),
                      std::move(personal), member_limit,        seed};
}

BatchSource MeasuredSets::member_batches() const {
  return members.batches(kImageBatch, member_limit, derived_seed(seed, kMembership));
}

Result<ModelFigures> measure_model(const Model& model, const MeasuredSets& sets) {
  ZKAPEX_TRY(Evaluation members, evaluate(model, sets.member_batches()));
  ZKAPEX_TRY(Evaluation others, evaluate(model, sets.held_out.batches(kImageBatch)));
  ZKAPEX_TRY(const Evaluation retained, evaluate(model, sets.retained.batches(kImageBatch)));
  ZKAPEX_TRY(const Evaluation personal, evaluate(model, sets.personal.batches(kImageBatch)));
  ZKAPEX_TRY(const MembershipResult m,
             membership_inference(members.losses, others.losses, {.seed = derived_seed(sets.seed, 501)}));
  return ModelFigures{.forget = others.accuracy,
                      .forget_members = members.accuracy,
                      .retained = retained.accuracy,
                      .personal = personal.accuracy,
                      .member_losses = std::move(members.losses),
                      .other_losses = std::move(others.losses),
                      .membership = {{"auc", m.auc},
                                     {"auc_low", m.auc_low},
                                     {"auc_high", m.auc_high},
                                     {"advantage", m.advantage},
                                     {"accuracy", m.accuracy},
                                     {"per_side", m.per_side}}};
}

Result<Alignments> measure_alignments(const Model& model, const Model& exact, const MeasuredSets& sets) {
  Alignments out;
  ZKAPEX_TRY(out.forget, alignment(model, exact, sets.member_batches()));
  ZKAPEX_TRY(out.personal, alignment(model, exact, sets.personal.batches(kImageBatch)));
  return out;
}

std::vector<TableColumn> drift_columns() {
  return {{"drift/matrices", "furthest matrix, of its norm", Unit::kPlain},
          {"drift/vectors", "furthest bias or gain, rms", Unit::kScientific},
          {"drift/added", "largest branch, rms", Unit::kScientific},
          {"drift/head", "classifier, of its norm", Unit::kPlain},
          {"drift/head_bias", "its bias, rms", Unit::kScientific}};
}

}  // namespace zkapex
