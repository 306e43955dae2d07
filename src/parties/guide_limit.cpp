#include "parties/guide_limit.h"

#include <algorithm>

namespace zkapex {

namespace {

Result<Wide> sum_of_squares(const Client& client, const LayoutTensor& tensor) {
  constexpr uint64_t kAtOnce = uint64_t{1} << 16;  // squares below 2^106, so that their sum fits 128 bits
  std::vector<int64_t> weights;
  Wide out;
  for (uint64_t first = 0; first < tensor.count; first += kAtOnce) {
    weights.resize(std::min(kAtOnce, tensor.count - first));
    ZKAPEX_CHECK(client.read(tensor.first_coordinate + first, weights));
    uint128 sum = 0;
    for (const int64_t v : weights) sum += static_cast<uint128>(static_cast<int128>(v) * v);
    out += Wide::from(sum);
  }
  return out;
}

}  // namespace

Status check_guide(const Client& client, const Mask& mask, const Decimal& most) {
  if (!mask.guidance) return Done{};
  const Layout& layout = client.deployment->layout();
  const std::vector<uint64_t>& scales = mask.guidance->guide.scales;
  if (mask.guidance->pull == 0 && std::ranges::any_of(scales, [](uint64_t scale) { return scale != 0; }))
    return error("the request has a guide and no pull: it changes nothing, and answers would tell of the model");
  const std::vector<Wide> guide = GuideReader(layout, mask.support, mask.guidance->guide).squares();
  Wide unit(1);
  for (uint32_t k = 0; k < most.places; ++k) unit = unit * Wide(10);
  const Wide digits(most.digits);
  for (size_t k = 0; k < guide.size(); ++k) {
    const LayoutTensor& tensor = layout.tensors()[layout.covered()[k]];
    ZKAPEX_TRY(const Wide weights, sum_of_squares(client, tensor));
    if (guide[k] * unit * unit > digits * digits * weights)
      return error(
          "the request's guide draws tensor '{}' further than {} times the size of its weights: a request that does so "
          "may do harm; --max-guide allows more",
          tensor.name, most.text());
  }
  return Done{};
}

}  // namespace zkapex
