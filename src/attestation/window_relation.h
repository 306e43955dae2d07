// The relation that a window's proof is of: what an accepted one means is in docs/window.md, section 7.
#pragma once

#include "argument/bit_check.h"
#include "argument/relation.h"
#include "attestation/window_statement.h"

namespace zkapex {

inline constexpr BitLabels kJointLabels{.sumcheck = "joint", .message = "joint evaluations"};

// Statement and plan outlive it. The rows that it names are those of the proof, then the model's, then the curvature's.
class WindowRelation : public Relation {
 public:
  WindowRelation(const WindowStatement& statement, const WindowPlan& plan) : statement_(statement), plan_(plan) {}

  [[nodiscard]] std::string_view protocol() const override { return "zkapex window 5"; }
  [[nodiscard]] Verdict sound() const override;
  [[nodiscard]] ProofShape shape() const override { return plan_.shape(); }
  [[nodiscard]] std::vector<EncodedPoint> statement_rows() const override;
  void absorb(Transcript& main, std::span<const EncodedPoint> rows) const override {
    absorb_window(main, statement_, plan_, rows);
  }
  void replay(ArgumentVerifier& verifier) const override;

 private:
  const WindowStatement& statement_;
  const WindowPlan& plan_;
};

}  // namespace zkapex
