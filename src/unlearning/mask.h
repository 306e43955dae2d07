// Ψ, the request of one window: which weights are to become zero, where the others are drawn, and by which operator,
// for which deployment and window. Public.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "base/framed.h"
#include "unlearning/guide.h"
#include "unlearning/operator.h"

namespace zkapex {

class Deployment;

// What a guided request has beside its mask. Fractions are in thousandths.
struct Guidance {
  static constexpr int64_t kThousand = 1000;
  static constexpr uint64_t kMaxPull = uint64_t{1} << 40;
  static constexpr uint64_t kUsualPull = 127 * 127;  // the square of the largest entry of a factor of 8 bits
  static constexpr uint32_t kMaxDistance = 1'000'000;

  uint64_t pull = 0;               // t
  uint32_t progress = 0;           // π, at most 1
  uint32_t distance = 0;           // κ
  uint32_t distance_removed = 0;   // κ′
  Guide guide;                     // Δ
  std::string method = "unnamed";  // that made it, as the provider says; a name, as the window's

  bool operator==(const Guidance&) const = default;
  [[nodiscard]] Status check() const;
  void serialize(ByteWriter& out) const;
  static Result<Guidance> parse(ByteReader& in);
};

struct Mask {
  static constexpr FileKind kKind{"ZKAPEXPS", 5, "a mask"};
  static constexpr size_t kMaxFileBytes = size_t{1} << 34, kMaxWindow = 255;

  Sha256::Digest deployment{};
  std::string window;               // identifier, 1 to kMaxWindow bytes without control characters
  std::array<uint8_t, 32> nonce{};  // of the provider: ties proofs to this publication
  Sha256::Digest predecessor{};     // digest of the mask before it; zeros for the first of a deployment
  Operator op = Operator::kGroupObs;
  // Coordinates of the layout, strictly increasing; at least one, unless there is a guide.
  std::vector<uint64_t> support;
  std::optional<Guidance> guidance;  // of the operator guided, and of no other

  bool operator==(const Mask&) const = default;

  // Support strictly increasing and not empty, window identifier well formed, a guide where the operator has one.
  Status check() const;
  // Made for this deployment, with coordinates that it has and a guide that fits it.
  Status check_for(const Deployment& deployment) const;
  // One sentence for each rule that asks little of a client: no progress, a distance above 10.
  [[nodiscard]] std::vector<std::string> loose() const;
  // Every coordinate of `earlier` is one of this mask: what was removed before is removed again.
  [[nodiscard]] bool contains(const Mask& earlier) const;
  // Adds the coordinates of `earlier`, of the same deployment, and names it as the predecessor. Before a guide is made,
  // which is zero on the mask. Refused: a mask of the same window.
  [[nodiscard]] Status continue_from(const Mask& earlier);

  // The support is coded by its gaps (first coordinate, then each difference less one) in Rice's code: 0.77 bytes per
  // index at a density of 4 %, 1.02 at 1 %.
  // Canonical: one encoding per mask, and parse accepts no other. Only after check().
  [[nodiscard]] Bytes serialize() const { return frame(kKind, content()); }
  // `most`: coordinates that there can be, where that is known; a byte of the file may stand for eight of them.
  static Result<Mask> parse(ByteView file, uint64_t most = ~uint64_t{0});
  [[nodiscard]] Sha256::Digest digest() const { return frame_digest(kKind, content()); }

 private:
  [[nodiscard]] Bytes content() const;
};

}  // namespace zkapex
