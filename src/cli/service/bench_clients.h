// Clients for `bench service`: real registrations and proofs of a small deployment, made up from a seed.
#pragma once

#include "exchange/statement.h"
#include "parties/work.h"
#include "unlearning/deployment.h"
#include "unlearning/mask.h"

namespace zkapex::cli {

struct BenchClient {
  std::string name;
  SigningKey key;
  Bytes registration, proof;  // files
  Sha256::Digest registered{}, starts_from{};
};

struct BenchWorld {
  Deployment deployment;
  Mask mask;
  std::vector<BenchClient> clients;
};

// Two layers of `width` × `hidden` weights without an anchor; `folder` is for what provers put aside.
[[nodiscard]] Result<BenchWorld> make_bench_world(uint64_t width, uint64_t hidden, size_t clients, const Path& folder,
                                                  const WorkSettings& settings);

}  // namespace zkapex::cli
