// The public statement of a registration or an update, and the relation that its proof is of: docs/window.md, sections
// 6 and 8.
#pragma once

#include "argument/relation.h"
#include "attestation/registration_plan.h"

namespace zkapex {

// θ0 by rows, as commitments have them: zero on padding, and in tensors that are free or that θ0 does not have.
struct BaseRows {
  RowReader covered, others;
};

struct RegistrationStatement {
  const Deployment* deployment = nullptr;
  std::string client;
  const BaseRows* base = nullptr;       // where the deployment has an anchor, which names it
  const UpdateTerms* update = nullptr;  // none for a registration
};

// Where the covered rows are held near to: θ0, which the guides of an update's windows have moved. The statement
// outlives it.
[[nodiscard]] RowReader covered_reference(const RegistrationStatement& statement);

// Statement and plan outlive it. The rows that it names are those of the proof, then of an update those that guided
// windows started from, and those that it goes on from.
class RegistrationRelation : public Relation {
 public:
  RegistrationRelation(const RegistrationStatement& statement, const RegistrationPlan& plan)
      : statement_(statement), plan_(plan) {}

  [[nodiscard]] std::string_view protocol() const override {
    return statement_.update != nullptr ? "zkapex update 2" : "zkapex registration 3";
  }
  [[nodiscard]] Verdict sound() const override;
  [[nodiscard]] ProofShape shape() const override { return plan_.shape(); }
  [[nodiscard]] std::vector<EncodedPoint> statement_rows() const override;
  void absorb(Transcript& main, std::span<const EncodedPoint> rows) const override;
  void replay(ArgumentVerifier& verifier) const override;

 private:
  void replay_padding(const PaddedSegment& segment, Receiver& channel, ArgumentVerifier& verifier) const;
  // Returns what the fork adds to Σ_k γ^k (sum + slack).
  [[nodiscard]] Expression replay_sum(size_t fork, std::span<const Scalar> powers, Receiver& channel,
                                      ArgumentVerifier& verifier) const;

  const RegistrationStatement& statement_;
  const RegistrationPlan& plan_;
};

}  // namespace zkapex
