// The anchor: how far from the provider's base model θ0 a client's model may be when it registers, tensor by tensor, in
// the integers that are committed:
//
//   Σ (θ − θ0)²  <=  ρ² Σ θ0²                 over a tensor
//   Σ (θ − θ0)²  <=  ρ² Σ θ0² + α² n 4^f      over one of at most one dimension (biases, gains), of n entries
//
// It bounds a norm. It does not say where the model comes from.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/decimal.h"
#include "base/hash.h"
#include "base/wide.h"
#include "weights/layout.h"

namespace zkapex {

class Deployment;
struct Parameters;

// What a provider chooses. All of it is in units of weights, not of integers.
struct AnchorLimits {
  static constexpr uint32_t kThousand = 1000, kMaxRatio = 1'000'000;

  uint32_t ratio = 400;                      // ρ in thousandths
  Decimal drift{.digits = 5, .places = 2};   // α: root mean square that an entry of a bias may drift whatever θ0 is
  Decimal added{.digits = 25, .places = 2};  // the same for tensors that θ0 does not have, or has as zeros

  bool operator==(const AnchorLimits&) const = default;
};

// What the anchor asks of a tensor.
enum class Anchored : uint8_t {
  kNear = 0,   // the bound above
  kSame = 1,   // θ0's entries: what holds no weights
  kAdded = 2,  // θ0 does not have it, or has zeros: small entries
  kFree = 3,   // nothing
};

struct Anchor {
  AnchorLimits limits;
  Sha256::Digest base{};          // of θ0's integers: docs/formats.md, "Deployment"
  std::vector<Anchored> tensors;  // each tensor of the layout
  std::vector<Wide> squares;      // Σ θ0² of each, 0 where it is not kNear

  bool operator==(const Anchor&) const = default;

  void serialize(ByteWriter& out) const;
  static Result<Anchor> parse(ByteReader& in, size_t tensors);
};

// A tensor that is not free: its rows, and what Σ (θ − θ0)² over them may be.
struct AnchoredTensor {
  size_t tensor = 0;  // in Layout::tensors()
  uint64_t entries = 0;
  Wide bound;
};
// At most one of its dimensions is longer than one.
[[nodiscard]] bool is_vector(const LayoutTensor& tensor);

// In the layout's order. Refused: an anchor that is of another layout, has nothing to hold, or numbers out of range.
[[nodiscard]] Result<std::vector<AnchoredTensor>> anchored_tensors(const Anchor& anchor, const Layout& layout,
                                                                   const Parameters& parameters);

// Every bound, by the sums Σ (θ − θ0)² of the deployment's anchored tensors; the error names the tensor that is
// furthest beyond its bound.
[[nodiscard]] Status check_anchor(const Deployment& deployment, std::span<const Wide> sums);

// Names of the deployment's tensors of that kind; none without an anchor.
[[nodiscard]] std::vector<std::string> tensors_anchored(const Deployment& deployment, Anchored kind);

}  // namespace zkapex
