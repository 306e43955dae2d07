#include "learning/mask_tensors.h"

#include <algorithm>
#include <set>

#include "learning/torch.h"

namespace zkapex {

Result<std::vector<std::string>> covered_by(Model& model, const Layout& layout) {
  if (layout.tensors().size() != model.parameters().all().size()) {
    return error("the deployment has {} tensors, the model {}", layout.tensors().size(),
                 model.parameters().all().size());
  }
  for (const LayoutTensor& t : layout.tensors()) {
    const Tensor* parameter = model.parameters().find(t.name);
    if (!parameter) return error("the model has no tensor '{}' of the deployment", t.name);
    const std::vector<uint64_t> shape(parameter->sizes().begin(), parameter->sizes().end());
    if (shape != t.shape) return error("tensor '{}' has another shape in the deployment", t.name);
  }
  std::set<std::string> linear;
  for (const Linear* layer : model.linears()) linear.insert(layer->name + ".weight");
  std::vector<std::string> out;
  for (const size_t k : layout.covered()) {
    const std::string& name = layout.tensors()[k].name;
    if (!linear.contains(name)) return error("'{}' is covered, but no linear map of the model's blocks", name);
    out.push_back(name);
  }
  return out;
}

Result<std::vector<Tensor>> mask_tensors(const Mask& mask, const Deployment& deployment) {
  ZKAPEX_CHECK(mask.check_for(deployment));
  return catch_torch([&]() -> Result<std::vector<Tensor>> {
    const Layout& layout = deployment.layout();
    std::vector<Tensor> out;
    auto next = mask.support.begin();
    for (const size_t k : layout.covered()) {
      const LayoutTensor& t = layout.tensors()[k];
      const std::vector<int64_t> shape(t.shape.begin(), t.shape.end());
      Tensor one = at::zeros(shape, at::kByte);
      auto* entries = one.data_ptr<uint8_t>();
      for (; next != mask.support.end() && *next < t.first_coordinate + t.count; ++next)
        entries[*next - t.first_coordinate] = 1;
      out.push_back(std::move(one));
    }
    return out;
  });
}

}  // namespace zkapex
