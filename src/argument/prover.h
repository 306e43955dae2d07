// The prover's side of the argument: pads before the first challenge, forks with sealed messages, and in the end one
// inner product that settles all pairs, products and equations together.
#pragma once

#include <functional>
#include <vector>

#include "argument/channel.h"
#include "argument/inner_product.h"
#include "argument/scratch.h"
#include "argument/verifier.h"

namespace zkapex {

// "The committed vector v, of length n, has multilinear extension `value` at `point`."
struct ProverPair {
  std::vector<Scalar> vector;
  Scalar blinding;  // of the commitment to v
  std::vector<Scalar> point;
  Scalar value;
};

struct ProverProduct {
  Scalar a, b, c;  // claimed: a b = c; all three were sent
};

// How a relation's prover works; none of it shows in the proof.
struct ProveOptions {
  Scratch scratch;                         // for vectors that wait for the end
  std::function<void()> progress = [] {};  // hears of every fork that is done
  Tamper* tamper = nullptr;
};

// An error if the generators are too few for a proof of this shape.
[[nodiscard]] Status require_generators(const Generators& generators, const ProofShape& shape);

class ArgumentProver {
 public:
  // Draws the pads. `generators` has at least shape.generators() positions.
  ArgumentProver(const Generators& generators, ProofShape shape, Nonces nonces, ThreadPool& pool,
                 Tamper* tamper = nullptr, Scratch scratch = {});

  // The relation absorbs this after all that is committed and before the first challenge.
  [[nodiscard]] const EncodedPoint& pad_commitment() const { return proof_.pads; }
  [[nodiscard]] Nonces& nonces() { return nonces_; }
  [[nodiscard]] ThreadPool& pool() { return pool_; }

  [[nodiscard]] Sender fork(size_t index, Transcript& transcript);

  // A pair whose vector need not stay in memory until the end. In the order of the forks.
  [[nodiscard]] Status add_pair(ProverPair pair);

  // `pairs` after those added before; pairs and products in the order of the forks. `main` is the transcript that the
  // forks came from. `replay` is the relation's verifier up to the opening, run on the proof without one: it tells what
  // there is to open. An error if the witness does not satisfy the relation.
  [[nodiscard]] Result<Proof> finish(Transcript& main, std::span<const Transcript> forks, std::vector<ProverPair> pairs,
                                     std::span<const ProverProduct> products, std::vector<EncodedPoint> rows,
                                     const std::function<OpeningClaim(const Proof&)>& replay);

 private:
  struct KeptPair {
    KeptVector vector;
    Scalar blinding;
    std::vector<Scalar> point;
    Scalar value;
  };
  Status reduce_pairs(Sender& channel);
  // t* + ζ pads: what is opened.
  Result<SecretVector<Scalar>> opened_vector(std::span<const Scalar> weights, const Scalar& zeta);
  void mask_products(Sender& channel, std::span<const ProverProduct> products);

  const Generators& generators_;
  ProofShape shape_;
  Nonces nonces_;
  ThreadPool& pool_;
  Tamper* tamper_;
  SecretVector<Scalar> pads_;
  Wiped<Scalar> pad_blinding_;
  Scratch scratch_;
  std::vector<KeptPair> pairs_;
  Proof proof_;
};

}  // namespace zkapex
