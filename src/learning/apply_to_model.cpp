#include "learning/apply_to_model.h"

#include "learning/mask_tensors.h"
#include "learning/torch.h"

namespace zkapex {

Result<ObsSummary> apply_to_model(const Deployment& deployment, const Mask& mask, const Path& store,
                                  const Path& checkpoint, Model& model, ThreadPool& pool) {
  const Layout& layout = deployment.layout();
  ZKAPEX_TRY(const Checkpoint weights, Checkpoint::open(checkpoint));
  ZKAPEX_TRY(const StoreReader curvature, StoreReader::open(store));
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
