#include "learning/mask_tensors.h"

#include <algorithm>
#include <set>

#include "learning/adaptformer.h"
#include "learning/torch.h"

namespace zkapex {

Result<std::vector<std::string>> covered_by(Model& model, const Layout& layout) {
  size_t found = 0;
  for (const LayoutTensor& t : layout.tensors()) {
    if (is_of_branch(t.name)) continue;  // θ0 has none of them, and clients add them beside what is covered
    const Tensor* parameter = model.parameters().find(t.name);
    if (!parameter) return error("the model has no tensor '{}' of the deployment", t.name);
    ++found;
    const std::vector<uint64_t> shape(parameter->sizes().begin(), parameter->sizes().end());
    if (shape != t.shape) return error("tensor '{}' has another shape in the deployment", t.name);
  }
  if (found != model.parameters().all().size())
    return error("the deployment has {} tensors of the model's {}", found, model.parameters().all().size());
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

std::vector<Tensor> support_tensors(std::span<const uint64_t> support, const Layout& layout) {
  std::vector<Tensor> out;
  auto next = support.begin();
  for (const size_t k : layout.covered()) {
    const LayoutTensor& t = layout.tensors()[k];
    const std::vector<int64_t> shape(t.shape.begin(), t.shape.end());
    Tensor one = at::zeros(shape, at::kByte);
    auto* entries = one.data_ptr<uint8_t>();
    for (; next != support.end() && *next < t.first_coordinate + t.count; ++next)
      entries[*next - t.first_coordinate] = 1;
    out.push_back(std::move(one));
  }
  return out;
}

Result<std::vector<Tensor>> mask_tensors(const Mask& mask, const Deployment& deployment) {
  ZKAPEX_CHECK(mask.check_for(deployment));
  return catch_torch(
      [&]() -> Result<std::vector<Tensor>> { return support_tensors(mask.support, deployment.layout()); });
}

Result<std::vector<Tensor>> guide_tensors(const Mask& request, const Deployment& deployment) {
  ZKAPEX_CHECK(request.check_for(deployment));
  if (!request.guidance) return error("the request has no guide");
  const Layout& layout = deployment.layout();
  const GuideReader guide(layout, request.support, request.guidance->guide);
  const FixedPoint& format = deployment.parameters().weights;
  return catch_torch([&]() -> Result<std::vector<Tensor>> {
    std::vector<Tensor> out;
    std::vector<int64_t> integers;
    for (const size_t k : layout.covered()) {
      const LayoutTensor& tensor = layout.tensors()[k];
      std::vector<float> values;
      for (uint64_t b = tensor.first_block; values.size() < tensor.count; ++b) {
        integers.resize(layout.block(b).count);
        guide.read(b, integers);
        for (const int64_t value : integers) values.push_back(static_cast<float>(format.to_double(value)));
      }
      const std::vector<int64_t> shape(tensor.shape.begin(), tensor.shape.end());
      out.push_back(at::tensor(values).view(shape));
    }
    return out;
  });
}

}  // namespace zkapex
