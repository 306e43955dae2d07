#include "learning/probe.h"

#include "learning/fisher.h"
#include "learning/model_files.h"
#include "learning/model_names.h"
#include "learning/saliency.h"
#include "learning/tensor_files.h"
#include "learning/torch.h"
#include "unlearning/dense_obs.h"

namespace zkapex {

namespace {

namespace fs = std::filesystem;

Result<Tensor> named_tensor(const Checkpoint& file, const std::string& name) {
  ZKAPEX_TRY(const TensorView view, file.get(name));
  return read_tensor(view);
}

Result<Batch> read_batch(const fs::path& path, const ModelConfig& config) {
  ZKAPEX_TRY(const Checkpoint file, Checkpoint::open(path));
  Batch batch;
  if (const VitConfig* vit = config.vit()) {
    ZKAPEX_TRY(batch.inputs, named_tensor(file, "pixel_values"));
    ZKAPEX_TRY(batch.labels, named_tensor(file, "labels"));
    const at::IntArrayRef s = batch.inputs.sizes();
    if (s.size() != 4 || s[1] != vit->channels || s[2] != vit->image_size || s[3] != vit->image_size) {
      return error("pixel_values has the shape [{}], the model takes [n, {}, {}, {}]", fmt::join(s, ", "),
                   vit->channels, vit->image_size, vit->image_size);
    }
    if (batch.labels.dim() != 1 || batch.labels.size(0) != s[0]) return error("labels are not one per image");
    if (batch.labels.min().item<int64_t>() < 0 || batch.labels.max().item<int64_t>() >= vit->classes) {
      return error("a label is not among the {} classes of the model", vit->classes);
    }
    return batch;
  }
  const OptConfig& opt = *config.opt();
  ZKAPEX_TRY(batch.inputs, named_tensor(file, "input_ids"));
  batch.labels = batch.inputs;
  if (batch.inputs.dim() != 2 || batch.inputs.size(1) < 2 || batch.inputs.size(1) > opt.positions) {
    return error("input_ids must be sequences of 2 to {} tokens", opt.positions);
  }
  if (batch.inputs.min().item<int64_t>() < 0 || batch.inputs.max().item<int64_t>() >= opt.vocabulary) {
    return error("an id of input_ids is outside of the vocabulary of {}", opt.vocabulary);
  }
  return batch;
}

Result<Tensor> blocks_of(const Model& model, const Batch& batch, const std::string& weight, int64_t block) {
  std::vector<Tensor> slices;
  const BatchSource source = [&](const BatchVisitor& visit) { return visit(batch); };
  const FisherSink sink = [&](const FisherSlice& slice) -> Status {
    slices.push_back(slice.values);
    return Done{};
  };
  ZKAPEX_TRY(const BlockFisherReport report,
             block_fisher(model, source, {weight}, {.block = block, .pending = batch.size()}, sink));
  Tensor all = at::cat(slices);
  if (all.size(0) != report.blocks) return error("blocks are missing");
  return all;
}

// Group-OBS on one block, with A = F + damping.
Result<Tensor> obs_block(const Tensor& fisher, const Tensor& theta, const Tensor& mask, double relative_damping) {
  const Tensor damping = at::eye(fisher.size(0), fisher.options()) * (fisher.diagonal().mean() * relative_damping);
  const Tensor a = (fisher + damping).contiguous(), weights = theta.contiguous();
  std::vector<uint32_t> masked;
  for (int64_t k = 0; k < mask.size(0); ++k) {
    if (mask[k].item<int64_t>() != 0) masked.push_back(static_cast<uint32_t>(k));
  }
  const auto view = [](const Tensor& t) {
    return std::span<const double>(t.data_ptr<double>(), static_cast<size_t>(t.numel()));
  };
  ZKAPEX_TRY(const std::vector<double> delta, dense_obs(view(a), view(weights), masked));
  return at::tensor(delta, at::kDouble);
}

Result<Tensor> obs_delta(const fs::path& directory, const Batch& batch, const std::string& weight,
                         const std::string& key, const ProbeOptions& options) {
  ZKAPEX_TRY(const Checkpoint masks, Checkpoint::open(*options.mask_from));
  ZKAPEX_TRY(const Tensor mask, named_tensor(masks, "obs_mask." + key));
  ZKAPEX_TRY(const auto model, load_model(directory, {.placement = {at::kDouble, options.device}}));
  ZKAPEX_TRY(const Tensor fisher, blocks_of(*model, batch, weight, options.block));
  if (mask.dim() != 2 || mask.size(0) != fisher.size(0) || mask.size(1) != options.block) {
    return error("obs_mask.{} is not [{}, {}]", key, fisher.size(0), options.block);
  }
  const Tensor flat = model->parameters().find(weight)->flatten().cpu();
  const Tensor theta = at::constant_pad_nd(flat, {0, mask.numel() - flat.numel()}).view(mask.sizes());
  std::vector<Tensor> deltas;
  for (int64_t k = 0; k < fisher.size(0); ++k) {
    ZKAPEX_TRY(Tensor delta, obs_block(fisher[k], theta[k], mask[k], options.relative_damping));
    deltas.push_back(std::move(delta));
  }
  return at::stack(deltas);
}

Result<std::vector<Parameter>> run(const fs::path& directory, const fs::path& input, const ProbeOptions& options) {
  ZKAPEX_TRY(const auto model, load_model(directory, {.placement = {at::kFloat, options.device}}));
  ZKAPEX_TRY(const Batch batch, read_batch(input, model->config()));
  ZKAPEX_TRY(const std::vector<std::string> covered, covered_weights(*model, options.covered));
  std::vector<Parameter> out;
  {
    const at::NoGradGuard no_grad;
    const Batch placed = batch.to(model->placement());
    const Tensor logits = model->logits(placed.inputs);
    out.push_back({"logits", logits});
    out.push_back({"loss", model->sample_losses(logits, placed.labels)});
  }
  const BatchSource source = [&](const BatchVisitor& visit) { return visit(batch); };
  ZKAPEX_TRY(const DiagonalFisher fisher, diagonal_fisher(*model, source, covered));
  for (size_t k = 0; k < covered.size(); ++k) {
    const std::string key = memory_name(model->config(), covered[k]);
    const Tensor weight = model->parameters().find(covered[k])->detach();
    out.push_back({"grad." + key, fisher.gradient[k]});
    out.push_back({"fisher_diag." + key, fisher.diagonal[k]});
    out.push_back({"saliency." + key, second_order_score(weight, fisher.gradient[k], fisher.diagonal[k], 0)});
  }
  const std::string first = memory_name(model->config(), covered.front());
  ZKAPEX_TRY(Tensor blocks, blocks_of(*model, batch, covered.front(), options.block));
  out.push_back({"block_fisher." + first, std::move(blocks)});
  if (options.mask_from) {
    ZKAPEX_TRY(Tensor delta, obs_delta(directory, batch, covered.front(), first, options));
    out.push_back({"obs_delta." + first, std::move(delta)});
  }
  return out;
}

}  // namespace

Result<std::vector<Parameter>> probe(const fs::path& model_directory, const fs::path& input,
                                     const ProbeOptions& options) {
  return catch_torch([&] { return run(model_directory, input, options); });
}

}  // namespace zkapex
