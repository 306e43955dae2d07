// The public statement of a registration, and the relation that its proof is of: docs/window.md, section 6.
#pragma once

#include "argument/relation.h"
#include "attestation/registration_plan.h"

namespace zkapex {

struct RegistrationStatement {
  const Deployment* deployment = nullptr;
  std::string client;
};

// Statement and plan outlive it.
class RegistrationRelation : public Relation {
 public:
  RegistrationRelation(const RegistrationStatement& statement, const RegistrationPlan& plan)
      : statement_(statement), plan_(plan) {}

  [[nodiscard]] std::string_view protocol() const override { return "zkapex registration 2"; }
  [[nodiscard]] Verdict sound() const override;
  [[nodiscard]] ProofShape shape() const override { return plan_.shape(); }
  void absorb(Transcript& main, std::span<const EncodedPoint> rows) const override;
  void replay(ArgumentVerifier& verifier) const override;

 private:
  void replay_padding(const PaddedSegment& segment, Receiver& channel, ArgumentVerifier& verifier) const;

  const RegistrationStatement& statement_;
  const RegistrationPlan& plan_;
};

}  // namespace zkapex
