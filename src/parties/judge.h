// The provider's verdicts on what clients hand in for one window: one or many, settled together.
#pragma once

#include <functional>

#include "parties/records.h"
#include "parties/work.h"

namespace zkapex {

// A proof file as a client handed it in, read when its turn comes.
using Submission = std::function<Result<Bytes, Rejection>()>;

struct Judgement {
  std::optional<Rejection> rejection;                 // none: accepted
  std::string client;                                 // as its proof says; empty where that cannot be read
  std::optional<Sha256::Digest> registration, start;  // digests from the records; none where the client is not there
  size_t proof_bytes = 0;
  Sha256::Digest proof{};               // SHA-256 of the file
  std::optional<ModelCommitment> next;  // where an accepted window leads
};

// In the order of the submissions. Registrations and current models come from the records, which are not changed: see
// record(). Of several proofs that are accepted of one client the first stands. All sums that fit the memory together
// are settled by one multi-scalar multiplication; only where that fails is each tried alone.
[[nodiscard]] Result<std::vector<Judgement>> judge(const Records& records, const Mask& mask,
                                                   std::span<const Submission> submissions,
                                                   const WorkSettings& settings);

// Moves the clients of accepted judgements on, in the records that they rest on.
[[nodiscard]] Status record(const Records& records, const Mask& mask, std::span<const Judgement> judgements);

}  // namespace zkapex
