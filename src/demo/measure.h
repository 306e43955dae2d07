// What the demo tells of models beyond the figures of experiments/measuring.h: losses, layers, single images.
#pragma once

#include "base/json.h"
#include "demo/run.h"
#include "experiments/measuring.h"

namespace zkapex::demo {

// The four models of a client, in the order of the tables.
inline constexpr const char* kModelKeys[] = {"before", "mask_only", "ours", "exact"};

// Shares of losses by bins: the same bins for all models, the last one open to the right.
[[nodiscard]] nlohmann::ordered_json loss_histograms(const std::vector<ModelFigures>& figures);

// Images with what the models (in the order of kModelKeys) say of them.
[[nodiscard]] Result<nlohmann::ordered_json> example_predictions(const std::vector<const Model*>& models,
                                                                 const MeasuredSets& sets);

// For each covered tensor: what the mask removed, how far compensation moved the rest, and the distance from the exact
// operator that its residual bounds.
[[nodiscard]] Result<nlohmann::ordered_json> layer_figures(const DemoRun& run, const std::string& client);

// A grey image as a PNG in a data: address.
[[nodiscard]] Result<std::string> png_data_address(const std::vector<uint8_t>& pixels, uint32_t width, uint32_t height);

}  // namespace zkapex::demo
