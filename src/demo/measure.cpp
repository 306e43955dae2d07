#include "demo/measure.h"

#include <algorithm>
#include <cmath>

#include "attestation/inputs.h"
#include "base/stopwatch.h"
#include "learning/baselines.h"
#include "learning/evaluation.h"
#include "learning/mask_tensors.h"
#include "learning/model_files.h"

namespace zkapex::demo {

namespace {

using nlohmann::ordered_json;

// The client's model with the mask applied and nothing else done.
Result<std::unique_ptr<Model>> masked_model(const DemoRun& run, const std::string& client) {
  ZKAPEX_TRY(const Deployment deployment, zkapex::read_deployment(run.files.deployment()));
  ZKAPEX_TRY(const Mask mask, zkapex::read_mask(run.files.mask(), deployment));
  ZKAPEX_TRY(auto model, load_model(run.files.personal(client), {.placement = run.placement}));
  ZKAPEX_TRY(const auto covered, covered_by(*model, deployment.layout()));
  ZKAPEX_TRY(const auto masks, mask_tensors(mask, deployment));
  ZKAPEX_CHECK(mask_only(*model, covered, masks));
  return model;
}

ordered_json as_json(const ModelFigures& f) {
  return {{"forget_accuracy", f.forget},
          {"forget_training_accuracy", f.forget_members},
          {"personal_accuracy", f.personal},
          {"membership", f.membership}};
}

Status measure_client(DemoRun& run, size_t k, Progress& progress) {
  const std::string& client = run.settings.clients[k];
  std::vector<std::unique_ptr<Model>> models(4);
  ZKAPEX_TRY(models[0], load_model(run.files.personal(client), {.placement = run.placement}));
  ZKAPEX_TRY(models[1], masked_model(run, client));
  ZKAPEX_TRY(models[2], load_model(run.files.unlearned(client), {.placement = run.placement}));
  ZKAPEX_TRY(models[3], load_model(run.files.retrained(client), {.placement = run.placement}));
  OpenImages images(run.splits[k]);
  ZKAPEX_TRY(const MeasuredSets sets, MeasuredSets::open(images, models[0]->config(), run.settings.measured_on,
                                                         run.settings.members, run.settings.seed));

  ordered_json& out = run.client_report(k);
  std::vector<ModelFigures> figures;
  for (size_t m = 0; m < models.size(); ++m) {
    ZKAPEX_TRY(figures.emplace_back(), measure_model(*models[m], sets));
    out["models"][kModelKeys[m]] = as_json(figures.back());
    progress.advance();
  }
  // Where the mask alone does no harm there is nothing to give back.
  if (figures[1].personal < figures[0].personal) {
    out["recovery"] = recovery(figures[0].personal, figures[1].personal, figures[2].personal);
  } else {
    out["recovery"] = nullptr;
  }
  out["forget_distance_to_exact"] = std::abs(figures[2].forget - figures[3].forget);
  out["losses"] = loss_histograms(figures);
  ZKAPEX_TRY(out["layers"], layer_figures(run, client));
  double worst = 0;
  for (const ordered_json& layer : out["layers"]) worst = std::max(worst, layer["error"].get<double>());
  out["measured_error"] = worst;
  std::vector<const Model*> all;
  for (const auto& model : models) all.push_back(model.get());
  ZKAPEX_TRY(out["examples"], example_predictions(all, sets));
  progress.advance();
  return Done{};
}

}  // namespace

ordered_json loss_histograms(const std::vector<ModelFigures>& figures) {
  constexpr size_t kBins = 24;
  std::vector<double> all;
  for (const ModelFigures& f : figures) {
    all.insert(all.end(), f.member_losses.begin(), f.member_losses.end());
    all.insert(all.end(), f.other_losses.begin(), f.other_losses.end());
  }
  std::ranges::sort(all);
  // So that all but one in a hundred losses are within the axis.
  const double top = std::max(1.0, std::ceil(all[static_cast<size_t>(0.99 * static_cast<double>(all.size() - 1))]));
  const double width = top / kBins;
  const auto shares = [&](const std::vector<double>& losses) {
    std::vector<double> out(kBins);
    for (const double loss : losses) {
      const auto bin = static_cast<size_t>(std::max(0.0, loss / width));
      out[std::min(bin, kBins - 1)] += 1.0 / static_cast<double>(losses.size());
    }
    return out;
  };
  ordered_json out{{"bin_width", width}, {"bins", kBins}};
  for (size_t m = 0; m < figures.size(); ++m) {
    out[kModelKeys[m]] = {{"members", shares(figures[m].member_losses)}, {"others", shares(figures[m].other_losses)}};
  }
  return out;
}

Status measure_models(DemoRun& run) {
  run.tell.step("", "what it did to the models");
  const Stopwatch watch;
  {
    Progress progress(run.work.progress, "measuring", "models", 5 * run.settings.clients.size());
    for (size_t k = 0; k < run.settings.clients.size(); ++k) {
      ZKAPEX_CHECK(measure_client(run, k, progress));
    }
  }
  run.report["seconds"]["measuring"] = watch.seconds();
  return Done{};
}

}  // namespace zkapex::demo
