// Ψ, the request of one window: which weights are to become zero and by which operator, for which deployment and
// window. Public.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "base/framed.h"
#include "unlearning/operator.h"

namespace zkapex {

class Deployment;

struct Mask {
  static constexpr FileKind kKind{"ZKAPEXPS", 3, "a mask"};
  static constexpr size_t kMaxFileBytes = size_t{1} << 34, kMaxWindow = 255;

  Sha256::Digest deployment{};
  std::string window;               // identifier, 1 to kMaxWindow bytes without control characters
  std::array<uint8_t, 32> nonce{};  // of the provider: ties proofs to this publication
  Sha256::Digest predecessor{};     // digest of the mask before it; zeros for the first of a deployment
  Operator op = Operator::kGroupObs;
  std::vector<uint64_t> support;  // coordinates of the layout, strictly increasing, at least one

  bool operator==(const Mask&) const = default;

  // Support strictly increasing and not empty, window identifier well formed.
  Status check() const;
  // Made for this deployment, with coordinates that it has.
  Status check_for(const Deployment& deployment) const;
  // Every coordinate of `earlier` is one of this mask: what was removed before is removed again.
  [[nodiscard]] bool contains(const Mask& earlier) const;
  // Adds the coordinates of `earlier`, of the same deployment, and names it as the predecessor.
  void continue_from(const Mask& earlier);

  // The support is coded by its gaps (first coordinate, then each difference less one), seven bits to a byte, least
  // significant first, the top bit on all bytes but the last: 1.005 bytes per index at a density of 4 %.
  // Canonical: one encoding per mask, and parse accepts no other. Only after check().
  [[nodiscard]] Bytes serialize() const { return frame(kKind, content()); }
  static Result<Mask> parse(ByteView file);
  [[nodiscard]] Sha256::Digest digest() const { return frame_digest(kKind, content()); }

 private:
  [[nodiscard]] Bytes content() const;
};

}  // namespace zkapex
