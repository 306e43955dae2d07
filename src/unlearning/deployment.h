// The deployment: layout and parameters, published by the provider before anyone registers. Its digest names it.
#pragma once

#include <span>

#include "base/decimal.h"
#include "base/framed.h"
#include "base/wide.h"
#include "unlearning/anchor.h"
#include "unlearning/rules.h"
#include "weights/fixed_point.h"
#include "weights/layout.h"

namespace zkapex {

struct Parameters {
  uint32_t curvature_bits = 8;              // c: entries of a factor in two's complement
  FixedPoint weights;                       // f and w
  uint64_t floor = 4;                       // μ: A = L Lᵀ + μ I
  Decimal error{.digits = 1, .places = 5};  // ε: how far each block of weights may be from the exact operator
  uint64_t cap_numerator = 4;               // den Σ_C x² <= num Σ_M x²: how far compensation may move the model
  uint64_t cap_denominator = 1;
  // How ranges are proved (docs/argument.md, section 14): λ projections of chunks of m entries. A chunk of 0 is chosen
  // by Deployment::make.
  uint32_t projections = 192;
  uint64_t weight_chunk = 0, curvature_chunk = 0, other_chunk = 0;

  // Bits of a projection: what is proved of each entry is that it is below 2^e in size.
  [[nodiscard]] uint32_t weight_bits() const;           // w + log2 m
  [[nodiscard]] uint32_t curvature_range_bits() const;  // c + log2 m
  static constexpr uint32_t kOtherBits = 63;            // of tensors that are not covered
  // The largest integer that a tensor which is not covered may have.
  [[nodiscard]] int64_t largest_other() const;

  bool operator==(const Parameters&) const = default;
};

// No sum of a window reaches a quarter of the field, so that each stands for an integer: docs/window.md, section 7; the
// inequalities are in docs/formats.md, "Deployment".
// `padded_size` counts covered weights with their padding, `slack_bits` is NB, `pull` is t, of a guide that is at most
// the largest weight.
[[nodiscard]] Status check_no_wrap(const Geometry& geometry, const Parameters& parameters, uint64_t padded_size,
                                   uint32_t slack_bits, uint64_t pull, std::span<const Rule> rules);
// Whether a window has room for the bits of its slacks: those of blocks in planes of S bits, those of rules in rows of
// n.
[[nodiscard]] Status check_slack_bits(const Geometry& geometry, uint32_t slack_bits, uint64_t rules);
// Planes of blocks' slacks, Q = ⌈NB / S⌉, and of rules' slacks, ⌈rules / ⌊n / NB⌋⌉, each of one row.
[[nodiscard]] uint64_t slack_planes(const Geometry& geometry, uint32_t slack_bits);
[[nodiscard]] uint64_t rule_planes(const Geometry& geometry, uint32_t slack_bits, uint64_t rules);

class Deployment {
 public:
  static constexpr FileKind kKind{"ZKAPEXDP", 3, "a deployment"};
  static constexpr size_t kMaxFileBytes = size_t{1} << 28;
  static constexpr uint32_t kMaxCurvatureBits = 16, kMaxSlackBits = 240, kMaxPlanes = 64;
  static constexpr uint64_t kMinRow = 64;  // a machine word of bits
  static constexpr uint32_t kMinProjections = 192, kMaxProjections = 256;
  static constexpr uint64_t kMaxChunk = uint64_t{1} << 16;
  // What loose() says where there is no anchor.
  static constexpr std::string_view kNoAnchor = "there is no anchor: a client may register any model at all";
  static constexpr uint64_t kMaxFloor = uint64_t{1} << 40, kMaxCap = uint64_t{1} << 32;

  // Refuses, with the reason, what is outside the supported set, what would let an integer wrap around in the field,
  // and an error that every pair of models meets.
  static Result<Deployment> make(Layout layout, const Parameters& parameters,
                                 std::optional<Anchor> anchor = std::nullopt);

  [[nodiscard]] const Layout& layout() const { return layout_; }
  [[nodiscard]] const Parameters& parameters() const { return parameters_; }
  // Y_blk = ⌊(μ ε 2^f)²⌋, exactly.
  [[nodiscard]] const Wide& residual_bound() const { return residual_bound_; }
  // The same with μ + t in place of μ: what a pull of t adds to the smallest eigenvalue.
  [[nodiscard]] Wide residual_bound(uint64_t pull) const;
  // NB: bits of Y_blk, and of num |M| 4^w for the largest mask there can be.
  [[nodiscard]] uint32_t slack_bits() const { return slack_bits_; }
  [[nodiscard]] const std::optional<Anchor>& anchor() const { return anchor_; }
  // What it asks of the tensors that are not free; none without an anchor.
  [[nodiscard]] const std::vector<AnchoredTensor>& anchored() const { return anchored_; }
  // Bits of every slack of the anchor: of the largest bound.
  [[nodiscard]] uint32_t anchor_bits() const { return anchor_bits_; }
  // One sentence for each parameter that says little about a model: ε above 10^-2, a cap above 100, an anchor that
  // leaves room for the whole model, or none.
  [[nodiscard]] std::vector<std::string> loose() const;

  // Canonical: parse accepts exactly what serialize writes.
  [[nodiscard]] Bytes serialize() const { return frame(kKind, content()); }
  static Result<Deployment> parse(ByteView file);
  [[nodiscard]] Sha256::Digest digest() const { return frame_digest(kKind, content()); }

 private:
  Deployment(Layout layout, const Parameters& parameters, std::optional<Anchor> anchor)
      : layout_(std::move(layout)), parameters_(parameters), anchor_(std::move(anchor)) {}
  [[nodiscard]] Status set_anchored();
  [[nodiscard]] Bytes content() const;

  Layout layout_;
  Parameters parameters_;
  std::optional<Anchor> anchor_;
  std::vector<AnchoredTensor> anchored_;
  Wide residual_bound_;
  uint32_t slack_bits_ = 0, anchor_bits_ = 0;
};

}  // namespace zkapex
