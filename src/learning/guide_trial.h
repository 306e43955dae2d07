// A request tried on the clients of a rehearsal, by the operator's own integers: what they forget, what they keep, and
// how far they follow.
#pragma once

#include "learning/simulated_client.h"
#include "unlearning/mask.h"
#include "unlearning/rules.h"

namespace zkapex {

struct ClientTrial {
  struct Figures {
    double accuracy = 0, loss = 0;
  };
  std::string client;
  Figures forget_before, forget_after;  // on D_f
  Figures kept_before, kept_after;      // on D_r in the client's domain, samples that are chosen by the seed
  std::vector<FollowedTensor> tensors;
};

// `samples` at most of each set are measured.
[[nodiscard]] Result<ClientTrial> try_guide(const Simulation& simulation, const SimulatedClient& client,
                                            const Mask& request, const Samples& forget, int64_t samples);

// Rules that all of these clients meet with room to spare: half of the smallest progress, twice the largest distance
// beyond what the mask accounts for. An error where a client hardly follows the guide: what the mask sets off is then
// larger than where the guide draws.
[[nodiscard]] Status set_rules(const std::vector<ClientTrial>& trials, Guidance& guidance);

}  // namespace zkapex
