#include "experiments/unlearn_once.h"

#include <cmath>

#include "experiments/seeds.h"
#include "learning/baselines.h"
#include "learning/evaluation.h"
#include "learning/mask_tensors.h"

namespace zkapex {

using nlohmann::ordered_json;

namespace {

constexpr const char* kWindow = "experiment";

// Differences relative to less than this say nothing.
constexpr double kLeastForRatio = 0.05;

}  // namespace

Result<Published> publish(Vision& vision, const OperatorSettings& settings, const MaskRecipe& recipe) {
  ZKAPEX_TRY(const Path original, vision.original());
  ZKAPEX_TRY(Deployment deployment, vit_deployment(original / "model.safetensors", settings));
  Path scored = original;
  if (recipe.at_personal) {
    ZKAPEX_TRY(scored, vision.personal());
  }
  ZKAPEX_TRY(const auto model, vision.load(scored));
  ZKAPEX_TRY(const Samples forget, vision.samples("forget"));
  ZKAPEX_TRY(const Samples retain, vision.samples("retain"));
  ZKAPEX_TRY(Mask mask,
             cut_mask(*model, deployment, settings.ratio, {.kind = recipe.kind, .seed = vision.seed(kSaliency)},
                      forget.batches(32, settings.saliency_samples, vision.seed(kSaliency)),
                      retain.batches(32, settings.saliency_samples, vision.seed(kRetained)), kWindow));
  return Published{std::move(deployment), std::move(mask)};
}

Result<std::unique_ptr<Model>> masked_model(Vision& vision, const Published& published) {
  ZKAPEX_TRY(const Path personal, vision.personal());
  ZKAPEX_TRY(auto model, vision.load(personal));
  ZKAPEX_TRY(const auto covered, covered_by(*model, published.deployment.layout()));
  ZKAPEX_TRY(const auto masks, mask_tensors(published.mask, published.deployment));
  ZKAPEX_CHECK(mask_only(*model, covered, masks));
  return model;
}

Result<FisherStoreReport> personal_curvature(Vision& vision, Model& personal, const Published& published,
                                             const OperatorSettings& settings, const Path& store) {
  ZKAPEX_TRY(const Samples drawings, vision.samples("personal"));
  return write_curvature(personal, drawings.batches(32, settings.fisher_samples, vision.seed(kFisher)),
                         published.deployment, settings.damping, store, vision.work().work, "curvature");
}

ordered_json Compensated::describe(const Published& published) const {
  const StoreStatistics& f = curvature.factors;
  ordered_json out = {
      {"moved_over_removed", std::sqrt(summary.sums.moved.approximate() / summary.sums.removed.approximate())},
      {"blocks", summary.blocks},
      {"masked_blocks", summary.masked_blocks},
      {"fisher_samples", curvature.fisher.samples},
      {"rank_deficient", f.rank_deficient},
      {"damping_raised", f.raised},
      {"largest_damping_ratio", f.largest_damping_ratio},
      {"mean_log10_condition", f.mean_log10_condition},
      {"largest_condition", f.largest_condition},
      {"rules_hold", check_rules(published.deployment, published.mask, summary.groups).ok()}};
  const auto followed = followed_tensors(published.deployment.layout(), published.mask, summary.groups);
  const FollowedRange range = range_of(followed);
  if (!followed.empty())
    out["guide"] = {{"least_progress", range.least_progress}, {"most_distance", range.most_distance}};
  return out;
}

Result<Compensated> compensated_model(Vision& vision, const Path& personal, const Published& published,
                                      const OperatorSettings& settings) {
  ZKAPEX_TRY(auto model, vision.load(personal));
  const Path store = vision.work().scratch / "curvature.zka";
  ZKAPEX_TRY(FisherStoreReport curvature, personal_curvature(vision, *model, published, settings, store));
  ZKAPEX_TRY(ObsSummary summary, apply_to_model(published.deployment, published.mask, store,
                                                personal / "model.safetensors", *model, *vision.work().work.pool));
  return Compensated{std::move(model), std::move(summary), curvature};
}

Result<std::unique_ptr<Model>> baseline_model(Vision& vision, const std::string& method) {
  const BaselineSettings& b = vision.settings().baselines;
  ZKAPEX_TRY(const Path personal, vision.personal());
  ZKAPEX_TRY(auto model, vision.load(personal));
  ZKAPEX_TRY(const Samples forget, vision.samples("forget"));
  ZKAPEX_TRY(const Samples retained, vision.samples(b.retained_data));
  const auto seeded = [&](BaselineOptions options) {
    options.seed = vision.seed(kBaseline);
    return options;
  };
  if (method == "ga") {
    ZKAPEX_CHECK(gradient_ascent(*model, forget, seeded(b.ga)));
  } else if (method == "neggrad+") {
    ZKAPEX_CHECK(neggrad_plus(*model, forget, retained, b.neggrad_alpha, seeded(b.neggrad)));
  } else {
    ScrubOptions options = b.scrub;
    options.base = seeded(options.base);
    ZKAPEX_CHECK(scrub(*model, forget, retained, options));
  }
  return model;
}

Result<ordered_json> figures_of(Vision& vision, const Model& model, const Model* exact) {
  ZKAPEX_TRY(const MeasuredSets sets, vision.measured_sets());
  ZKAPEX_TRY(const ModelFigures f, measure_model(model, sets));
  ordered_json out = {{"forget_accuracy", f.forget_members},
                      {"held_out_accuracy", f.forget},
                      {"retained_accuracy", f.retained},
                      {"personal_accuracy", f.personal},
                      {"membership", f.membership}};
  if (exact) {
    ZKAPEX_TRY(const Alignments a, measure_alignments(model, *exact, sets));
    out["alignment"] = {{"forget", a.forget}, {"personal", a.personal}};
  }
  return out;
}

void add_recovery(Results& results, const std::string& variant, const std::string& before, const std::string& masked) {
  for (const uint64_t seed : results.seeds()) {
    const auto accuracy = [&](const std::string& of) { return results.figure(of, seed, "personal_accuracy"); };
    const auto whole = accuracy(before), least = accuracy(masked), now = accuracy(variant);
    std::optional<double> value;
    if (whole && least && now && *least < *whole) value = recovery(*whole, *least, *now);
    results.set(variant, seed, "recovery", value);
  }
}

void add_differences(Results& results, const std::string& variant, const std::string& exact) {
  for (const uint64_t seed : results.seeds()) {
    for (const auto& [from, to] : {std::pair("held_out_accuracy", "forget"), {"personal_accuracy", "personal"}}) {
      const auto ours = results.figure(variant, seed, from), theirs = results.figure(exact, seed, from);
      std::optional<double> gap, relative;
      if (ours && theirs) gap = *ours - *theirs;
      if (gap && *theirs >= kLeastForRatio) relative = *gap / *theirs;
      results.set(variant, seed, fmt::format("{}_gap", to), gap);
      results.set(variant, seed, fmt::format("{}_difference", to), relative);
    }
  }
}

}  // namespace zkapex
