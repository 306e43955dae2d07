// A client with two windows behind it, which goes on learning. The first window had a guide; the second only removed
// more.
#pragma once

#include "attestation/registration_prover.h"
#include "attestation/registration_verifier.h"
#include "attestation/window_testing.h"

namespace zkapex::testing {

class TestUpdate {
 public:
  // Of windows with these options. The anchor allows as much as the base model is large.
  TestUpdate(WindowOptions options, ThreadPool& pool);

  [[nodiscard]] UpdateTerms terms() const;
  [[nodiscard]] RegistrationPlan plan() const;
  // What opens the statement's rows; this outlives it.
  [[nodiscard]] KnownModels known() const;
  // θ′ is `next.theta_p`, its curvature `next.factors`.
  [[nodiscard]] Result<ProvedRegistration> prove(const ModelReader& reader, ThreadPool& pool,
                                                 Tamper* tamper = nullptr) const;
  [[nodiscard]] Result<ProvedRegistration> prove(ThreadPool& pool, Tamper* tamper = nullptr) const {
    return prove(TestWindow::Before(next), pool, tamper);
  }
  [[nodiscard]] Verdict verify(const Proof& proof, ThreadPool& pool) const { return verify(proof, terms(), pool); }
  [[nodiscard]] Verdict verify(const Proof& proof, const UpdateTerms& under, ThreadPool& pool) const;
  [[nodiscard]] std::string answer(const Proof& proof, ThreadPool& pool) const;
  // What an honest prover says to the model as it is.
  [[nodiscard]] std::string refusal(ThreadPool& pool) const;
  // The padded index of a weight that no window has removed and the first guide draws, in covered tensor `tensor`.
  [[nodiscard]] size_t drawn_index(size_t tensor) const;

  TestWindow window;  // the first one: θ_p before it, and θ_u
  Mask second;
  TestWindow next;
  std::vector<EncodedPoint> before;  // Com(θ_p) of the first window, as the verifier has it
  SecretVector<Scalar> earlier_blindings;
  std::vector<int64_t> earlier;  // θ_p of the first window, as the prover has it
  // The model after both windows, in the same two ways.
  CommittedRows current;
  std::vector<int64_t> current_weights;
  std::string client = "client 1";
  bool curvature = false;
  Segmentation cut;
};

}  // namespace zkapex::testing
