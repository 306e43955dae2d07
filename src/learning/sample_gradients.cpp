#include "learning/sample_gradients.h"

#include <algorithm>
#include <map>

#include "learning/model_names.h"
#include "learning/torch.h"

namespace zkapex {

namespace {

class Tracer final : public LinearObserver {
 public:
  Tracer(const std::vector<std::string>& covered, const TraceVisitor& visit) : visit_(visit), inputs_(covered.size()) {
    for (size_t k = 0; k < covered.size(); ++k) layer_of_.emplace(covered[k], k);
  }

  [[nodiscard]] bool wants(const std::string& weight_name) const override { return layer_of_.contains(weight_name); }

  void observe(const std::string& weight_name, const Tensor& input, const Tensor& output) override {
    const size_t layer = layer_of_.at(weight_name);
    const auto tokens = [](const Tensor& t) { return t.dim() == 2 ? t.unsqueeze(1) : t; };
    inputs_[layer] = tokens(input);
    output.register_hook([this, layer, tokens](const Tensor& gradient) {
      const at::NoGradGuard no_grad;
      visit_({layer, std::move(inputs_[layer]), tokens(gradient)});
    });
  }

 private:
  const TraceVisitor& visit_;
  std::map<std::string, size_t> layer_of_;
  std::vector<Tensor> inputs_;  // from the forward pass until the gradient comes
};

}  // namespace

Tensor LayerTrace::sum() const { return at::matmul(outputs.flatten(0, 1).t(), inputs.flatten(0, 1)); }

Tensor LayerTrace::samples(int64_t first, int64_t count, int64_t row, int64_t rows) const {
  const Tensor g = outputs.narrow(0, first, count).narrow(2, row, rows).transpose(1, 2);
  const Tensor x = inputs.narrow(0, first, count);
  if (!g.is_cpu()) return at::bmm(g, x);
  // A product per sample on one thread each. A libtorch on OpenBLAS would take them one after another, each on all
  // threads, which small products do not gain from.
  const Tensor out = at::empty({count, rows, x.size(2)}, x.options());
  at::parallel_for(0, count, 1, [&](int64_t begin, int64_t end) {
    const at::NoGradGuard no_grad;
    for (int64_t s = begin; s < end; ++s) {
      Tensor one = out[s];
      at::mm_out(one, g[s], x[s]);
    }
  });
  return out;
}

Tensor trace_batch(const Model& model, const Batch& batch, const std::vector<std::string>& covered,
                   const TraceVisitor& visit) {
  const at::AutoGradMode grad(true);
  model.set_requires_grad(false);
  Tracer tracer(covered, visit);
  const Batch placed = batch.to(model.placement());
  const Tensor losses = model.sample_losses(model.logits(placed.inputs, {.observer = &tracer}), placed.labels);
  losses.sum().backward();
  return losses.detach();
}

Result<std::vector<std::string>> covered_weights(Model& model, const std::vector<std::string>& patterns) {
  if (patterns.empty()) return model.mlp_weights();
  std::vector<std::string> out;
  for (const Linear* layer : model.linears()) {
    const std::string name = layer->name + ".weight";
    if (matches_any(name, patterns) || matches_any(memory_name(model.config(), name), patterns)) out.push_back(name);
  }
  for (const std::string& pattern : patterns) {
    const bool used = std::ranges::any_of(out, [&](const std::string& name) {
      return matches_any(name, {pattern}) || matches_any(memory_name(model.config(), name), {pattern});
    });
    if (!used) return error("no weight of a linear map in the model's blocks matches '{}'", pattern);
  }
  return out;
}

}  // namespace zkapex
