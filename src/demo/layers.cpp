// What the operator did, layer by layer.
#include <cmath>

#include "attestation/inputs.h"
#include "demo/measure.h"
#include "unlearning/apply.h"

namespace zkapex::demo {

namespace {

struct Layer {
  uint64_t masked = 0;
  Wide removed, moved, largest_residual;
};

// "vit.encoder.layer.0.intermediate.dense.weight" is fc1 of block 1.
std::string short_name(const std::string& tensor) {
  const size_t at = tensor.find("layer.");
  const std::string block = at == std::string::npos ? "?" : std::to_string(std::stoi(tensor.substr(at + 6)) + 1);
  return fmt::format("block {} {}", block, tensor.find("intermediate") == std::string::npos ? "fc2" : "fc1");
}

}  // namespace

Result<nlohmann::ordered_json> layer_figures(const DemoRun& run, const std::string& client) {
  ZKAPEX_TRY(const Deployment deployment, zkapex::read_deployment(run.files.deployment()));
  ZKAPEX_TRY(const Mask mask, zkapex::read_mask(run.files.mask(), deployment));
  ZKAPEX_TRY(const Checkpoint model, Checkpoint::open(run.files.personal(client) / "model.safetensors"));
  ZKAPEX_TRY(const StoreReader store, open_store(run.files.store(client), deployment));
  ZKAPEX_TRY(const BlockReader read, checkpoint_blocks(deployment, model));
  const Layout& layout = deployment.layout();
  std::vector<Layer> layers(layout.tensors().size());
  for (const uint64_t coordinate : mask.support) ++layers[layout.place(coordinate).tensor].masked;
  const BlockSink sink = [&](uint64_t index, std::span<const int64_t>, const ObsOutcome& outcome) -> Status {
    Layer& layer = layers[layout.block(index).tensor];
    layer.removed += Wide::from(outcome.removed);
    layer.moved += Wide::from(outcome.moved);
    layer.largest_residual = std::max(layer.largest_residual, outcome.residual);
    return Done{};
  };
  ZKAPEX_CHECK(apply_group_obs(deployment, mask, store, read, sink, *run.work.pool));

  const double unit = std::ldexp(1.0, -static_cast<int>(deployment.parameters().weights.fraction_bits));
  const uint64_t pull = mask.guidance ? mask.guidance->pull : 0;
  const auto least = static_cast<double>(deployment.parameters().floor + pull);
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const size_t k : layout.covered()) {
    const Layer& layer = layers[k];
    // ‖x − x*‖ <= ‖y_C‖ / (μ + t), because A + t I is at least that.
    const double error = std::sqrt(layer.largest_residual.approximate()) * unit / least;
    out.push_back({{"tensor", layout.tensors()[k].name},
                   {"name", short_name(layout.tensors()[k].name)},
                   {"weights", layout.tensors()[k].count},
                   {"masked", layer.masked},
                   {"removed_norm", std::sqrt(layer.removed.approximate()) * unit},
                   {"moved_norm", std::sqrt(layer.moved.approximate()) * unit},
                   {"error", error}});
  }
  return out;
}

}  // namespace zkapex::demo
