// The public statement of a registration, and the relation that its proof is of: docs/window.md, section 6.
#pragma once

#include "argument/bit_check.h"
#include "argument/relation.h"
#include "attestation/registration_plan.h"

namespace zkapex {

struct RegistrationStatement {
  const Deployment* deployment = nullptr;
  std::string client;
  std::vector<EncodedPoint> unchanged;  // rows of the tensors that no operator touches
  std::vector<EncodedPoint> curvature;  // Com(C_p) without a certificate; with one it follows from the bit rows
};

inline constexpr BitLabels kUnitLabels{.sumcheck = "bits", .message = "evaluations"};

// Statement and plan outlive it.
class RegistrationRelation : public Relation {
 public:
  RegistrationRelation(const RegistrationStatement& statement, const RegistrationPlan& plan)
      : statement_(statement), plan_(plan) {}

  [[nodiscard]] std::string_view protocol() const override { return "zkapex registration 1"; }
  [[nodiscard]] Verdict sound() const override;
  [[nodiscard]] ProofShape shape() const override { return plan_.shape(); }
  // None takes part in the proof, but all must be points.
  [[nodiscard]] std::vector<EncodedPoint> statement_rows() const override;
  void absorb(Transcript& main, std::span<const EncodedPoint> rows) const override;
  void replay(ArgumentVerifier& verifier) const override;

 private:
  const RegistrationStatement& statement_;
  const RegistrationPlan& plan_;
};

// What is opened of a unit at `point`: Σ_k plane[k] Σ_t row[t] R[k, t]. The planes' weights are eq(κ, k), for weights δ
// times that and ±2^k, which gives their value, besides.
struct UnitOpening {
  std::vector<Scalar> plane, row, point;
  UnitOpening(const RangeUnit& unit, const Scalar& delta, std::span<const Scalar> r, std::span<const Scalar> kappa);
};

}  // namespace zkapex
