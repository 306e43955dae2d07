// The provider's verdicts on what clients hand in for one window: one or many, settled together.
#pragma once

#include "attestation/client.h"
#include "attestation/provider.h"

namespace zkapex {

// The files of one client. The commitment is the provider's own record of the model after earlier windows; without one
// the model is what was registered.
struct Submission {
  Path registration, proof, commitment;
};

// The provider's policy: what is due is for it to say, not for the client's file.
struct JudgeOptions {
  Operator op = Operator::kGroupObs;
  bool require_certificate = false;
  bool assume_registered = false;  // the registrations' own proofs were verified before
  bool want_next = false;          // the commitments that accepted windows leave behind
};

struct Judgement {
  std::optional<Rejection> rejection;  // none: accepted
  std::string client;                  // as its registration says; empty where that cannot be read
  Sha256::Digest registration{};       // its digest
  Operator op = Operator::kGroupObs;
  bool certificate = false;
  size_t registration_bytes = 0, proof_bytes = 0;
  std::optional<ModelCommitment> next;
};

// In the order of the submissions. Of several that are accepted in one client's name the first stands if all are under
// one registration (files are public and can be copied), and none if they are not: who the client is, is not decided
// here. All sums that fit the memory together are settled by one multi-scalar
// multiplication; only where that fails is each tried alone. A file that is missing or damaged is a rejection too.
[[nodiscard]] Result<std::vector<Judgement>> judge(const Deployment& deployment, const Mask& mask,
                                                   std::span<const Submission> submissions, const JudgeOptions& options,
                                                   const WorkSettings& settings);

}  // namespace zkapex
