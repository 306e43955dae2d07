// What the demo measures of models: accuracies, membership, losses, and predictions on single images.
#pragma once

#include <nlohmann/json.hpp>

#include "cli/demo_run.h"
#include "learning/dataset.h"
#include "learning/model.h"

namespace zkapex::cli {

// The four models of a client, in the order of the tables.
inline constexpr const char* kModelKeys[] = {"before", "mask_only", "ours", "exact"};

// The sets that models are measured on, open.
struct DemoSets {
  Samples members;      // forgotten images that the provider trained on
  Samples forget_test;  // photos of the forgotten class that nobody trained on
  Samples personal;     // the client's held-out drawings

  [[nodiscard]] static Result<DemoSets> open(const DemoSettings& settings, const Splits& splits,
                                             const ModelConfig& config);
};

struct ModelFigures {
  double forget = 0, forget_members = 0, personal = 0;
  std::vector<double> member_losses, other_losses;
  nlohmann::ordered_json membership;
};
[[nodiscard]] Result<ModelFigures> measure_model(const Model& model, const DemoSets& sets,
                                                 const DemoSettings& settings);

// Shares of losses by bins: the same bins for all models, the last one open to the right.
[[nodiscard]] nlohmann::ordered_json loss_histograms(const std::vector<ModelFigures>& figures);

// Images with what the models (in the order of kModelKeys) say of them.
[[nodiscard]] Result<nlohmann::ordered_json> example_predictions(const std::vector<const Model*>& models,
                                                                 const DemoSets& sets);

// For each covered tensor: what the mask removed, how far compensation moved the rest, and the distance from the exact
// operator that its residual bounds.
[[nodiscard]] Result<nlohmann::ordered_json> layer_figures(const DemoRun& run, const std::string& client);

// A grey image as a PNG in a data: address.
[[nodiscard]] Result<std::string> png_data_address(const std::vector<uint8_t>& pixels, uint32_t width, uint32_t height);

}  // namespace zkapex::cli
