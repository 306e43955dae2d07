#include "learning/guided_map.h"

#include <algorithm>

#include "learning/block_products.h"
#include "learning/mask_tensors.h"
#include "learning/torch.h"
#include "unlearning/apply.h"

namespace zkapex {

namespace {

constexpr uint64_t kInvertedAtOnce = 16;  // few enough for their tensors to stay in caches

// The values of a tensor in blocks of B, the last one padded by `fill`: [blocks, B].
Tensor in_blocks(const Tensor& values, int64_t block, double fill) {
  const Tensor flat = values.reshape({-1});
  const int64_t blocks = (flat.numel() + block - 1) / block;
  return at::constant_pad_nd(flat, {0, blocks * block - flat.numel()}, fill).view({blocks, block});
}

// L of some blocks: [count, B, B].
Result<Tensor> read_factors(const StoreReader& store, uint64_t first, uint64_t count, const Placement& placement) {
  const size_t block = store.header().block, triangle = triangle_size(block);
  std::vector<int16_t> packed(count * triangle);
  ZKAPEX_CHECK(store.read(first, count, std::span<int16_t>(packed)));
  const auto side = static_cast<int64_t>(block);
  Tensor out = at::zeros({static_cast<int64_t>(count), side, side});
  auto* entries = out.data_ptr<float>();
  for (size_t b = 0; b < count; ++b) {
    for (size_t row = 0; row < block; ++row) {
      const int16_t* from = &packed[b * triangle + triangle_size(row)];
      std::copy_n(from, row + 1, entries + (b * block + row) * block);
    }
  }
  return out.to(placement.options());
}

}  // namespace

uint64_t GuidedMap::bytes(const Layout& layout) {
  return layout.blocks() * layout.geometry().block * layout.geometry().block * sizeof(float);
}

Result<GuidedMap> GuidedMap::make(const Deployment& deployment, std::span<const uint64_t> masked, uint64_t pull,
                                  const StoreReader& store, Model& model) {
  const Layout& layout = deployment.layout();
  if (store.header() != store_header_for(deployment)) return error("the curvature store is of another deployment");
  ZKAPEX_TRY(const auto covered, covered_by(model, layout));
  return catch_torch([&]() -> Result<GuidedMap> {
    const at::NoGradGuard no_grad;
    const auto block = static_cast<int64_t>(layout.geometry().block);
    const auto t = static_cast<double>(pull), floor = static_cast<double>(deployment.parameters().floor);
    const std::vector<Tensor> masks = support_tensors(masked, layout);
    GuidedMap out;
    for (size_t k = 0; k < covered.size(); ++k) {
      const LayoutTensor& tensor = layout.tensors()[layout.covered()[k]];
      const Tensor weight = *model.parameters().find(covered[k]);
      const Tensor theta = in_blocks(weight, block, 0);
      const Tensor removed = in_blocks(masks[k].to(model.placement().options()), block, 1);
      const int64_t blocks = theta.size(0);
      Part part{at::empty_like(theta), at::empty({blocks, block, block}, theta.options())};
      for (int64_t first = 0; first < blocks; first += kInvertedAtOnce) {
        const int64_t count = std::min<int64_t>(kInvertedAtOnce, blocks - first);
        ZKAPEX_TRY(const Tensor factor, read_factors(store, tensor.first_block + static_cast<uint64_t>(first),
                                                     static_cast<uint64_t>(count), model.placement()));
        const Tensor gone = removed.narrow(0, first, count), kept = 1 - gone, own = theta.narrow(0, first, count);
        const Tensor gram = at::bmm(factor, factor.transpose(1, 2));  // A without its floor, which A_CM has not
        const Tensor both = kept.unsqueeze(2) * kept.unsqueeze(1);
        // A_CC + t I, and ones on the diagonal where nothing is to be solved.
        const Tensor system = gram * both + at::diag_embed(kept * (t + floor) + gone);
        const Tensor inverse = at::cholesky_inverse(at::linalg_cholesky(system)) * both;
        const Tensor lost = at::bmm(gram, (gone * own).unsqueeze(2));
        part.start.narrow(0, first, count).copy_(kept * own + at::bmm(inverse, lost).squeeze(2));
        part.response.narrow(0, first, count).copy_(inverse * t);
      }
      part.start = part.start.view({-1}).narrow(0, 0, weight.numel()).view(weight.sizes()).clone();
      out.parts_.push_back(std::move(part));
    }
    return out;
  });
}

Tensor GuidedMap::respond(size_t k, const Tensor& values) const {
  const Part& part = parts_[k];
  const Tensor product = symmetric_products(part.response, in_blocks(values, part.response.size(1), 0).contiguous());
  return product.view({-1}).narrow(0, 0, values.numel()).view(values.sizes());
}

Tensor GuidedMap::weights(size_t k, const Tensor& guide) const { return parts_[k].start + respond(k, guide); }

Tensor GuidedMap::guide_gradient(size_t k, const Tensor& gradient) const { return respond(k, gradient); }

}  // namespace zkapex
