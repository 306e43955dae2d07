// What an update keeps of the windows before it (docs/window.md, section 8): where they drew the model, what they
// removed, and the commitments that they started from.
#pragma once

#include "argument/transcript.h"
#include "unlearning/mask.h"
#include "weights/packed_weights.h"

namespace zkapex {

struct PastWindow {
  const Mask* mask = nullptr;        // was checked for the deployment
  std::vector<EncodedPoint> before;  // of a guided one: Com(θ) of the covered tensors that it started from
};

// What makes an update of a registration.
struct UpdateTerms {
  Sha256::Digest registration{};      // the ledger's entry
  Sha256::Digest start{};             // of the model commitment that it goes on from: its rows and how they came about
  std::vector<EncodedPoint> current;  // these rows
  std::vector<PastWindow> windows;    // that were accepted since the registration, in order
  bool curvature = false;             // brings a new one

  // Coordinates that are zero from now on: the last mask contains all before it.
  [[nodiscard]] std::span<const uint64_t> removed() const;
};

// Δ of one window, zero on what any window has removed since. All that it is made of outlives it.
class PastGuide {
 public:
  PastGuide(const Layout& layout, const UpdateTerms& terms, size_t window);

  // Δ of whole covered rows, zero on padding.
  void read(uint64_t first_row, std::span<int64_t> out) const;
  [[nodiscard]] RowReader rows() const;
  // Σ Δ² of each covered tensor.
  [[nodiscard]] std::vector<Wide> squares() const;

 private:
  void signs(uint64_t block, std::span<int8_t> out) const;

  const Layout* layout_;
  std::span<const uint64_t> removed_;
  GuideReader reader_;
};

// The public reference after these windows, by covered rows: θ0 + Σ_j Δ_j, and zero on what was removed.
[[nodiscard]] RowReader reference_rows(const Layout& layout, const UpdateTerms& terms, const RowReader& base);

// Refused: guides whose sum has no room in 62 bits.
[[nodiscard]] Status check_guides(const UpdateTerms& terms);

}  // namespace zkapex
