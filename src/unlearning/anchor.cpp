#include "unlearning/anchor.h"

#include <algorithm>
#include <cmath>

#include "unlearning/deployment.h"

namespace zkapex {

namespace {

constexpr size_t kSquareWords = 3;  // 2^40 entries below 2^62

void put_decimal(ByteWriter& out, const Decimal& value) {
  out.u64(value.digits);
  out.u32(value.places);
}

Result<Decimal> get_decimal(ByteReader& in) {
  ZKAPEX_TRY(const uint64_t digits, in.u64());
  ZKAPEX_TRY(const uint32_t places, in.u32());
  return Decimal::from_parts(digits, places);
}

Result<Wide> get_square(ByteReader& in) {
  Wide out;
  for (size_t k = 0; k < kSquareWords; ++k) {
    ZKAPEX_TRY(const uint64_t word, in.u64());
    out += Wide(word) * Wide::power_of_two(static_cast<unsigned>(64 * k));
  }
  return out;
}

// ⌊ρ² Σ θ0² + α² n 4^f⌋, exactly: what is below it is below the fraction, too. Dividing by ten step by step, rounding
// down each time, is dividing by the power of ten.
Wide bound_of(uint32_t ratio, const Wide& squares, const Decimal& drift, uint64_t entries, uint32_t fraction_bits) {
  constexpr uint32_t kRatioPlaces = 3;
  Wide relative = Wide(ratio) * Wide(ratio) * squares;
  Wide absolute = Wide(drift.digits) * Wide(drift.digits) * Wide(entries) * Wide::power_of_two(2 * fraction_bits);
  for (uint32_t k = 0; k < 2 * drift.places; ++k) relative = relative * Wide(10);
  for (uint32_t k = 0; k < 2 * kRatioPlaces; ++k) absolute = absolute * Wide(10);
  Wide out = relative + absolute;
  for (uint32_t k = 0; k < 2 * (drift.places + kRatioPlaces); ++k) out = out.divided_by(10);
  return out;
}

// Root mean square of an entry, in units of weights.
double root_mean(const Wide& sum, uint64_t entries, uint32_t fraction_bits) {
  return std::ldexp(std::sqrt(sum.approximate() / static_cast<double>(std::max<uint64_t>(entries, 1))),
                    -static_cast<int>(fraction_bits));
}

}  // namespace

void Anchor::serialize(ByteWriter& out) const {
  out.u32(limits.ratio);
  put_decimal(out, limits.drift);
  put_decimal(out, limits.added);
  out.raw(base);
  for (size_t k = 0; k < tensors.size(); ++k) {
    out.u8(static_cast<uint8_t>(tensors[k]));
    if (tensors[k] != Anchored::kNear) continue;
    for (size_t word = 0; word < kSquareWords; ++word) out.u64(squares[k].limbs()[word]);
  }
}

Result<Anchor> Anchor::parse(ByteReader& in, size_t count) {
  Anchor out;
  ZKAPEX_TRY(out.limits.ratio, in.u32());
  ZKAPEX_TRY(out.limits.drift, get_decimal(in));
  ZKAPEX_TRY(out.limits.added, get_decimal(in));
  ZKAPEX_TRY(out.base, in.array<32>());
  for (size_t k = 0; k < count; ++k) {
    ZKAPEX_TRY(const uint8_t kind, in.u8());
    if (kind > static_cast<uint8_t>(Anchored::kFree)) return error("an anchor knows no tensor of kind {}", kind);
    out.tensors.push_back(static_cast<Anchored>(kind));
    out.squares.emplace_back();
    if (out.tensors.back() == Anchored::kNear) {
      ZKAPEX_TRY(out.squares.back(), get_square(in));
    }
  }
  return out;
}

bool is_vector(const LayoutTensor& tensor) {
  return std::ranges::count_if(tensor.shape, [](uint64_t length) { return length > 1; }) <= 1;
}

Result<std::vector<AnchoredTensor>> anchored_tensors(const Anchor& anchor, const Layout& layout, const Parameters& p) {
  if (anchor.tensors.size() != layout.tensors().size() || anchor.squares.size() != layout.tensors().size())
    return error("the anchor is of {} tensors, and the layout has {}", anchor.tensors.size(), layout.tensors().size());
  if (anchor.limits.ratio > AnchorLimits::kMaxRatio)
    return error("an anchor's ratio of {} thousandths is above {}", anchor.limits.ratio, AnchorLimits::kMaxRatio);
  const Wide largest_weight(static_cast<uint64_t>(p.weights.max()));
  const Wide largest_other(static_cast<uint64_t>(p.largest_other()));
  std::vector<AnchoredTensor> out;
  bool holds = false;
  for (size_t k = 0; k < layout.tensors().size(); ++k) {
    const LayoutTensor& tensor = layout.tensors()[k];
    if (anchor.tensors[k] == Anchored::kFree) continue;
    AnchoredTensor anchored{k, tensor.split ? 2 * tensor.count : tensor.count, {}};
    const Wide& largest = tensor.covered ? largest_weight : largest_other;
    if (anchor.squares[k] > Wide(anchored.entries) * largest * largest)
      return error("the squares of the base model's tensor '{}' cannot add up to so much", tensor.name);
    const AnchorLimits& limits = anchor.limits;
    if (anchor.tensors[k] == Anchored::kNear && tensor.split)
      return error("the base model's tensor '{}' is no tensor of weights, but is to be near", tensor.name);
    if (anchor.tensors[k] == Anchored::kNear)
      anchored.bound = bound_of(limits.ratio, anchor.squares[k], limits.drift, is_vector(tensor) ? anchored.entries : 0,
                                p.weights.fraction_bits);
    if (anchor.tensors[k] == Anchored::kAdded)
      anchored.bound = bound_of(0, Wide(), limits.added, anchored.entries, p.weights.fraction_bits);
    holds = holds || anchored.entries > 0;
    out.push_back(anchored);
  }
  if (!holds) return error("an anchor that leaves every tensor free holds nothing");
  return out;
}

Status check_anchor(const Deployment& deployment, std::span<const Wide> sums) {
  const std::vector<AnchoredTensor>& anchored = deployment.anchored();
  const auto excess = [&](size_t k) { return sums[k].approximate() / anchored[k].bound.approximate(); };
  std::optional<size_t> worst;
  size_t beyond = 0;
  for (size_t k = 0; k < anchored.size(); ++k) {
    if (sums[k] <= anchored[k].bound) continue;
    ++beyond;
    if (!worst || excess(k) > excess(*worst)) worst = k;
  }
  if (!worst) return Done{};
  const AnchoredTensor& tensor = anchored[*worst];
  const std::string& name = deployment.layout().tensors()[tensor.tensor].name;
  const std::string others = beyond == 1 ? "" : fmt::format(", and {} more tensors are beyond theirs", beyond - 1);
  if (tensor.bound == Wide())
    return error("tensor '{}' is not that of the base model, and the deployment's anchor asks for it{}", name, others);
  const uint32_t f = deployment.parameters().weights.fraction_bits;
  return error(
      "tensor '{}' has drifted by {:.3g} from the base model (root mean square of an entry), and the deployment's "
      "anchor allows {:.3g}{}",
      name, root_mean(sums[*worst], tensor.entries, f), root_mean(tensor.bound, tensor.entries, f), others);
}

std::vector<std::string> tensors_anchored(const Deployment& deployment, Anchored kind) {
  std::vector<std::string> out;
  if (!deployment.anchor()) return out;
  for (size_t k = 0; k < deployment.layout().tensors().size(); ++k) {
    if (deployment.anchor()->tensors[k] == kind) out.push_back(deployment.layout().tensors()[k].name);
  }
  return out;
}

}  // namespace zkapex
